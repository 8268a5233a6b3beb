import { printable } from '../../../../protocol/printable.ts';
import { refusePrivilege, refuse, type Validator } from './finding.ts';
import { labels } from './labels.ts';
import { bundleFile } from './bundlePaths.ts';
import { serviceKeys } from './service.ts';
import { ipamConfig } from './subnets.ts';
import {
  oneOfKinds,
  booleanText,
  namePattern,
  mappingOf,
  listOf,
  literalMatching,
  forbidden,
  nullable,
  privilegedUnlessFalse,
  textValidator,
  privileged,
  privilegedUnless,
  privilegedUnlessNamed,
  text,
  type KeyTable,
} from './validators.ts';
import { entriesOf } from '../document/composeNode.ts';

/**
 * An engine name starts with the project's name and `_`; no env contains `_`, so the names of two projects cannot
 * clash.
 */
const projectOwnedName: Validator = textValidator((name, value, location) =>
  name.startsWith(`${location.facts.projectName}_`) && /^[\w.-]+$/.test(name)
    ? []
    : refusePrivilege(value, location, printable(name)),
);

/** `external`: the long form of older compose versions counts as `true`. */
const external = oneOfKinds({
  scalar: privilegedUnlessFalse,
  map: (value, location) => refusePrivilege(value, location, 'true'),
});

const networkKeys: KeyTable = {
  attachable: booleanText,
  driver: privilegedUnless(/^(bridge)?$/),
  driver_opts: privilegedUnlessNamed(
    /^com\.docker\.network\.(driver\.mtu|bridge\.(enable_icc|enable_ip_masquerade|host_binding_ipv4))$/,
  ),
  enable_ipv4: booleanText,
  enable_ipv6: booleanText,
  external,
  internal: booleanText,
  ipam: mappingOf({
    driver: privilegedUnless(/^(default)?$/),
    config: listOf(ipamConfig),
    options: privileged,
  }),
  labels,
  name: projectOwnedName,
};

const volumeKeys: KeyTable = {
  driver: privilegedUnless(/^(local)?$/),
  driver_opts: privilegedUnlessNamed(/^size$/),
  external,
  labels,
  name: projectOwnedName,
};

const fromOutside = forbidden('it comes from outside the bundle');

const configKeys: KeyTable = {
  content: text,
  driver: fromOutside,
  environment: literalMatching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the literal name of a variable'),
  external: literalMatching(/^(false|no|off|n)$/i, 'false, for it would come from outside the bundle'),
  file: bundleFile,
  labels,
  name: text,
  template_driver: fromOutside,
};

const secretKeys: KeyTable = { ...configKeys, driver_opts: fromOutside };

/** The policy for the top level of a compose file (spec §12): a key that is not in this table is refused. */
export const topLevelKeys: KeyTable = {
  configs: sectionValidator('config', mappingOf(configKeys)),
  include: forbidden('a bundle names its files in the manifest'),
  models: forbidden('they run outside the project'),
  name: textValidator((name, value, location) =>
    name === location.facts.projectName ? [] : refuse(value, location, `${printable(name)} must be left out`),
  ),
  networks: sectionValidator('network', nullable(mappingOf(networkKeys))),
  secrets: sectionValidator('secret', mappingOf(secretKeys)),
  services: sectionValidator('service', mappingOf(serviceKeys)),
  version: text,
  volumes: sectionValidator('volume', nullable(mappingOf(volumeKeys))),
};

/** A section of named entries; a finding names the entry as its owner. */
function sectionValidator(kind: string, validate: Validator): Validator {
  return oneOfKinds({
    map: (value, location) =>
      entriesOf(value).flatMap(([name, part]) => [
        ...(namePattern.test(name) ? [] : refuse(part, location, `${printable(name)} is no name`)),
        ...validate(part, { ...location, owner: `${kind} ${printable(name)}`, keyPath: '' }),
      ]),
  });
}
