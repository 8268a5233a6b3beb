import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, entriesOf, isText, type Scalar, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { contains, overlappingRoute, parseAddress, parseSubnet, type Subnet } from '../compose/networks.rules.ts';
import { bundleFile, isPlainHostPath, locatePath } from './bundlePaths.rules.ts';
import { ownName } from './engineNames.rules.ts';
import { labels } from './environment.rules.ts';
import {
  type Finding,
  refuse,
  refuseHostNetwork,
  refuseUnpermitted,
  refusePrivilege,
  refusePrivilegeOver,
  type Validator,
  type ValueLocation,
} from './finding.rules.ts';
import { hostPathOf } from './policyHost.rules.ts';
import { tmpfsOptions } from './mounts.rules.ts';
import { serviceKeys } from './service.rules.ts';
import {
  atKey,
  booleanText,
  forbidden,
  isFalse,
  type KeyTable,
  listOf,
  literalMatching,
  mapOf,
  mappingOf,
  nameCure,
  namePattern,
  nullable,
  oneOfKinds,
  privileged,
  privilegedUnless,
  privilegedUnlessFalse,
  privilegedUnlessNamed,
  text,
  textMatching,
} from './validators.rules.ts';

/** The engine's name of a network or volume from outside the project, which older files write below `external`; else null. */
function nameOutside(value: ComposeNode, { owner }: ValueLocation): string | null {
  const external = valueAt(value, 'external');
  if (external === undefined || isFalse.test(textOf(external) ?? '')) return null;
  const name = textOf(valueAt(external, 'name') ?? valueAt(value, 'name'));
  return name ?? owner.slice(owner.indexOf(' ') + 1);
}

/** A network or volume; one from outside the project is a privilege that is permitted by its name on the engine. */
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
    return refuseUnpermitted(value, location, { permit, entry: name, message });
  };
}

/** Ranges that a bundle's networks may use: private addresses. A subnet is at most as large as the engine's default. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8'].flatMap(
  (pool) => parseSubnet(pool) ?? [],
);
const shortestPrefix = { 4: 16, 6: 48 } as const;

const ipamConfigKeys = mappingOf({ aux_addresses: mapOf(text), gateway: text, ip_range: text, subnet: text });

/**
 * An entry of `ipam.config`. The bridge receives everything that the host sends to the subnet, so only private
 * addresses are allowed, and gateway, ranges and auxiliary addresses must be inside the subnet.
 */
const ipamConfig: Validator = oneOfKinds({
  map: (value, location) => [...ipamConfigKeys(value, location), ...validateIpamConfig(value, location)],
});

function validateIpamConfig(value: ComposeNode, location: ValueLocation): Finding[] {
  const written = valueAt(value, 'subnet');
  const subnet = isText(written) ? parseSubnet(written.text) : null;
  const auxiliary = entriesOf(valueAt(value, 'aux_addresses')).map(([, one]) => one);
  const inner = [valueAt(value, 'gateway'), valueAt(value, 'ip_range'), ...auxiliary].filter(isText);
  const outside = inner.filter(({ text }) => text !== '' && !(subnet && isInside(text, subnet)));
  return [
    ...(isText(written) ? validateSubnet(written, subnet, location) : []),
    ...outside.flatMap((one) => refusePrivilege(one, location, `${printable(one.text)} is outside the subnet`)),
  ];
}

/** A subnet that overlaps a route of the host would divert the host's traffic to the bridge. */
function validateSubnet(written: Scalar, subnet: Subnet | null, location: ValueLocation): Finding[] {
  if (!subnet || !isPrivate(subnet)) return refusePrivilege(written, location, `subnet ${printable(written.text)}`);
  const route = overlappingRoute(subnet, location.facts.routes ?? []);
  return route
    ? refusePrivilegeOver(written, location, `takes addresses of the host's route ${route.cidr} (${route.device})`)
    : [];
}

/** Whether a text is a subnet that a bundle's networks may have. */
export function isPrivateSubnet(text: string): boolean {
  const subnet = parseSubnet(text);
  return subnet !== null && isPrivate(subnet);
}

function isPrivate(subnet: Subnet): boolean {
  return subnet.prefix >= shortestPrefix[subnet.family] && privateRanges.some((each) => contains(each, subnet));
}

function isInside(written: string, subnet: Subnet): boolean {
  const inner = written.includes('/') ? parseSubnet(written) : parseAddress(written);
  return inner !== null && contains(subnet, inner);
}

/** `driver_opts` of a volume: those that make it a tmpfs; the others could make it any device or share. */
const volumeOptions = privilegedUnlessNamed(/^(size|type|device|o)$/, (value, location) =>
  (volumeOptionValues[location.keyPath] ?? text)(value, location),
);

const volumeOptionValues: KeyTable = {
  'driver_opts.type': privilegedUnless(/^tmpfs$/),
  'driver_opts.device': privilegedUnless(/^tmpfs$/),
  'driver_opts.o': tmpfsOptions,
};

const volumeKeys: KeyTable = { driver: privilegedUnless(/^(local)?$/), driver_opts: volumeOptions, labels };
const anyVolume = ownedOrExternal('volumes', volumeKeys);
const boundVolume = ownedOrExternal('volumes', { ...volumeKeys, driver_opts: boundDirectory });

/** A volume; a volume that is a directory of the host is checked as a bind mount of it. */
const volume: Validator = (value, location) => {
  const inBundle = boundBundlePath(value, location);
  if (isBound(value, location)) return [...inBundle, ...boundVolume(value, location)];
  const device = textOf(valueAt(value, 'driver_opts', 'device'));
  const findings = [...inBundle, ...anyVolume(value, location)];
  return device === null ? findings : findings.map((each) => ({ ...each, hostPath: hostPathOf(device) }));
};

/** A volume that is a directory of the bundle: compose makes the relative path one of the release. */
function boundBundlePath(value: ComposeNode, location: ValueLocation): Finding[] {
  const device = valueAt(value, 'driver_opts', 'device');
  const isBind = /\br?bind\b/.test(textOf(valueAt(value, 'driver_opts', 'o')) ?? '');
  const source = device === undefined ? null : textOf(device);
  if (device === undefined || source === null || !isBind || !('path' in locatePath(source, location.facts))) return [];
  const problem = {
    message: `${printable(source)} is part of the bundle, which a volume outlives`,
    cure: 'mount it with :ro in the service, or leave driver_opts out',
  };
  return refuse(device, atKey(location, 'driver_opts.device'), problem).map((each) => ({ ...each, whenApplied: [] }));
}

/** Whether options say no more than a bind mount does, of a path that nothing else decides. */
function isBound(value: ComposeNode, location: ValueLocation): boolean {
  const { host, rendered } = location.facts;
  const options = new Map(entriesOf(valueAt(value, 'driver_opts')).map(([key, option]) => [key, textOf(option) ?? '']));
  const [type, o, device = ''] = [options.get('type'), options.get('o'), options.get('device')];
  const isBind = options.size === 3 && type === 'none' && /^((ro|rw),)*r?bind(,(ro|rw))*$/.test(o ?? '');
  const isDecided = isPlainHostPath(device) && (rendered !== undefined || !device.includes('$'));
  return (
    isBind && isDecided && !host.engineSockets.includes(hostPathOf(device)) && nameOutside(value, location) === null
  );
}

function boundDirectory(value: ComposeNode, location: ValueLocation): Finding[] {
  const { owner, facts } = location;
  const device = textOf(valueAt(value, 'device')) ?? '';
  const isWritable = !facts.readOnlyVolumes.has(owner.slice(owner.indexOf(' ') + 1));
  const message = `${printable(device)} is outside the bundle`;
  return refuseUnpermitted(value, atKey(location, 'device'), {
    permit: 'binds',
    entry: hostPathOf(device),
    isWritable,
    message,
  });
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
          : refuse(part, location, { message: `${printable(name)} is not a name`, cure: nameCure })),
        ...validate(part, { ...location, owner: `${kind} ${printable(name)}`, keyPath: '' }),
      ]),
  });
}
