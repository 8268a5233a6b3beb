import { printable } from '../../../../protocol/printable.ts';
import { entriesOf, textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { isPlainHostPath, locatePath } from './bundlePaths.ts';
import { nameOutside, ownedOrExternal } from './externals.ts';
import { refuse, refusePower, type Finding, type Validator, type ValueLocation } from './finding.ts';
import { hostPathOf } from './hostPaths.ts';
import { labels } from './labels.ts';
import { tmpfsOptions } from './mounts.ts';
import { privilegedUnless, privilegedUnlessNamed, text, atKey, type KeyTable } from './validators.ts';

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

/** A volume; one that is a directory of the host is judged as a bind mount of it. */
export const volume: Validator = (value, location) => {
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
  return refusePower(value, atKey(location, 'device'), {
    permit: 'binds',
    entry: hostPathOf(device),
    isWritable,
    message,
  });
}
