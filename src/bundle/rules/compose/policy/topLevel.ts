import { printable } from '../../../../protocol/printable.ts';
import { entriesOf } from '../document/composeNode.ts';
import { bundleFile } from './bundlePaths.ts';
import { ownedOrExternal } from './externals.ts';
import { refuse, type Validator } from './finding.ts';
import { labels } from './labels.ts';
import { serviceKeys } from './service.ts';
import { ipamConfig } from './subnets.ts';
import {
  oneOfKinds,
  booleanText,
  nameCure,
  namePattern,
  mappingOf,
  listOf,
  literalMatching,
  forbidden,
  nullable,
  textMatching,
  privileged,
  privilegedUnless,
  privilegedUnlessNamed,
  text,
  type KeyTable,
} from './validators.ts';
import { volume } from './volumes.ts';

const network = ownedOrExternal('networks', {
  attachable: booleanText,
  driver: privilegedUnless(/^(bridge)?$/),
  driver_opts: privilegedUnlessNamed(
    /^com\.docker\.network\.(enable_ipv[46]|driver\.mtu|bridge\.(enable_icc|enable_ip_masquerade|host_binding_ipv4))$/,
  ),
  enable_ipv4: booleanText,
  enable_ipv6: booleanText,
  internal: booleanText,
  ipam: mappingOf({
    driver: privilegedUnless(/^(default)?$/),
    config: listOf(ipamConfig),
    options: privileged,
  }),
  labels,
});

const fromOutside = forbidden('it comes from outside the bundle', 'give it by file, content or environment');

const configKeys: KeyTable = {
  content: text,
  driver: fromOutside,
  environment: literalMatching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the literal name of a variable'),
  external: literalMatching(/^(false|no|off|n)$/i, 'false, for it would come from outside the bundle', 'leave it out'),
  file: bundleFile,
  labels,
  name: text,
  template_driver: fromOutside,
};

const secretKeys: KeyTable = { ...configKeys, driver_opts: fromOutside };

/** The policy for the top level of a compose file (spec §12): a key that is not in this table is refused. */
export const topLevelKeys: KeyTable = {
  configs: sectionValidator('config', mappingOf(configKeys)),
  include: forbidden('a bundle names its files in the manifest', 'name the file under compose in manifest.json'),
  jobs: forbidden('the agent runs no jobs of compose', 'write it as a service without restart'),
  models: forbidden('they run outside the project', 'run them as services'),
  name: textMatching(/^[a-z0-9][a-z0-9_-]*$/, 'small letters, digits, "_" and "-"'),
  networks: sectionValidator('network', nullable(network)),
  secrets: sectionValidator('secret', mappingOf(secretKeys)),
  services: sectionValidator('service', mappingOf(serviceKeys)),
  version: text,
  volumes: sectionValidator('volume', nullable(volume)),
};

/** A section of named entries; a finding names the entry as its owner. */
function sectionValidator(kind: string, validate: Validator): Validator {
  return oneOfKinds({
    map: (value, location) =>
      entriesOf(value).flatMap(([name, part]) => [
        ...(namePattern.test(name)
          ? []
          : refuse(part, location, { message: `${printable(name)} is no name`, cure: nameCure })),
        ...validate(part, { ...location, owner: `${kind} ${printable(name)}`, keyPath: '' }),
      ]),
  });
}
