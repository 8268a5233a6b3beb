import { printable } from '../../../../protocol/printable.ts';
import {
  refuseHostNetwork,
  refusePower,
  refusePrivilege,
  refuse,
  type Validator,
  type ValueLocation,
} from './finding.ts';
import { hostPathOf } from './hostPaths.ts';
import { labels } from './labels.ts';
import { ownName } from './engineNames.ts';
import { bundleFile } from './bundlePaths.ts';
import { tmpfsOptions } from './mounts.ts';
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
  isFalse,
  nullable,
  privilegedUnlessFalse,
  textMatching,
  privileged,
  privilegedUnless,
  privilegedUnlessNamed,
  text,
  type KeyTable,
} from './validators.ts';
import { entriesOf, textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';

/** The engine's name of a network or volume from outside the project, which older files write below `external`; else null. */
function nameOutside(value: ComposeNode, { owner }: ValueLocation): string | null {
  const external = valueAt(value, 'external');
  if (external === undefined || isFalse.test(textOf(external) ?? '')) return null;
  const name = textOf(valueAt(external, 'name') ?? valueAt(value, 'name'));
  return name ?? owner.slice(owner.indexOf(' ') + 1);
}

/** A network or volume; one from outside the project is a power that is permitted by its name on the engine. */
function ownedOrExternal(permit: 'networks' | 'volumes', keys: KeyTable): Validator {
  const owned = mappingOf({ ...keys, external: privilegedUnlessFalse, name: ownName(permit) });
  const keysOfForeign = (name: string) => mappingOf({ ...keys, external: foreign(permit, name), name: text });
  return oneOfKinds({
    map: (value, location) => {
      const name = nameOutside(value, location);
      return (name === null ? owned : keysOfForeign(name))(value, location);
    },
  });
}

function foreign(permit: 'networks' | 'volumes', name: string): Validator {
  return (value, location) => {
    const message = printable(textOf(value) ?? 'true');
    if (name.includes('$')) return refusePrivilege(value, location, `${message}, its name is decided by a variable`);
    if (permit === 'networks' && name === 'host') return refuseHostNetwork(value, location, message);
    return refusePower(value, location, { permit, entry: name, message });
  };
}

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

/** `driver_opts` of a volume: those that make it a tmpfs; the others could make it any path or device of the host. */
const volumeOptions = privilegedUnlessNamed(/^(size|type|device|o)$/, (value, location) =>
  (volumeOptionValues[location.keyPath] ?? text)(value, location),
);

const volumeOptionValues: KeyTable = {
  'driver_opts.type': privilegedUnless(/^tmpfs$/),
  'driver_opts.device': privilegedUnless(/^tmpfs$/),
  'driver_opts.o': tmpfsOptions,
};

const volumeKeys = ownedOrExternal('volumes', {
  driver: privilegedUnless(/^(local)?$/),
  driver_opts: volumeOptions,
  labels,
});

/** A volume; a directory of the host as its device has no permit: a bind mount says the same. */
const volume: Validator = (value, location) => {
  const device = textOf(valueAt(value, 'driver_opts', 'device'));
  const findings = volumeKeys(value, location);
  return device === null ? findings : findings.map((each) => ({ ...each, hostPath: hostPathOf(device) }));
};

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
