import { printable } from '../../core/text.rules.ts';
import { isUnseen, normalizeHostPath } from '../policy/policyHost.rules.ts';
import { isPrivateSubnet } from '../policy/topLevel.rules.ts';
import {
  change,
  type Effect,
  type ImportWork,
  joinPath,
  leaveUndecided,
  partsOf,
  type Place,
} from './importWork.rules.ts';
import { type Part, listAt, partAt, removeKeys, textAt } from './model.rules.ts';
import { directoryUse } from './mounts.rules.ts';

/** Turns networks of a swarm into networks of one host, and takes out the names of bridges, which no host permits. */
export function replaceNetworkDrivers(work: ImportWork): void {
  for (const { part, owner } of partsOf(work, 'networks')) {
    if (part['driver'] === 'overlay') {
      const why = 'a bundle runs on one host, which is not a swarm';
      const more = 'driver_opts' in part ? ', with its driver_opts' : '';
      change(work, { owner, key: 'driver' }, [`overlay is left out${more}`, why], withoutDriver);
    }
    if (!(bridgeName in partAt(part, 'driver_opts'))) continue;
    const told: [string, string] = [`${bridgeName} is left out`, 'no host permits it; the engine names the bridge'];
    change(work, { owner, key: 'driver_opts' }, told, (network) =>
      removeKeys(partAt(network, 'driver_opts'), bridgeName),
    );
  }
}

const bridgeName = 'com.docker.network.bridge.name';

const withoutDriver: Effect = (part) => removeKeys(part, 'driver', 'driver_opts');

/**
 * Writes volumes that are directories so that a host can permit them by their path; directories of the project, of a
 * home directory and of `/tmp` become volumes of the engine.
 */
export function replaceVolumeDrivers(work: ImportWork): void {
  for (const { part, owner } of partsOf(work, 'volumes')) {
    const mountpoint = textAt(partAt(part, 'driver_opts'), 'mountpoint');
    if (part['driver'] === 'local-persist' && mountpoint !== '') {
      const told = `local-persist is a bind of ${printable(mountpoint)} by driver_opts now`;
      const bind = { driver: 'local', driver_opts: { type: 'none', o: 'bind', device: mountpoint } };
      change(work, { owner, key: 'driver' }, [told, 'a host permits directories, but no drivers'], (volume) =>
        Object.assign(volume, bind),
      );
    }
    const options = partAt(part, 'driver_opts');
    const device = textAt(options, 'device');
    if (textAt(options, 'o').split(',').includes('bind') && device !== '' && !device.includes('$'))
      replaceDirectory(device, { owner, key: 'driver_opts' }, work);
  }
}

function replaceDirectory(device: string, place: Place, work: ImportWork): void {
  if (device.startsWith('/') && !isUnseen(normalizeHostPath(device))) return;
  const path = joinPath('.', device);
  const isDirectory = !/^[/~]/.test(device) && work.tree.kindOf(path) === 'directory';
  if (isDirectory && directoryUse(work.tree.filesBelow(path), '') === 'config')
    leaveUndecided(work, place, [`${printable(device)} holds configuration`, 'mount it by its path instead']);
  else {
    const told = `${printable(device)} is a volume of the engine now, with its driver`;
    change(work, place, [told, 'copy what is there into it'], withoutDriver);
  }
}

/**
 * Takes volumes and networks that no host permits to a bundle from outside the project, such as shares and networks on
 * a device of the host. Their operator creates them, and permits them by the names that compose gave them.
 */
export function replaceHostResources(work: ImportWork): void {
  for (const { section, kind, isOfHost } of kinds)
    for (const { name, part, owner } of partsOf(work, section)) {
      if (part['external'] === true) continue;
      const isKept = kind === 'volume' && work.choices.keepVolumes && !isNewVolume(name, part, work);
      if (!isOfHost(part) && !isKept) continue;
      const own = nameIn(work.choices.projectName, name, part);
      const lost = Object.keys(part).filter((key) => key !== 'name');
      const without = lost.length === 0 ? '' : `, without ${lost.join(', ')}`;
      const what = `is the ${kind} with the name ${printable(own)} from outside the project now${without}`;
      const told: [string, string] = isOfHost(part)
        ? [`${what}; make it there as the project has it (docker ${kind} create)`, ofHost]
        : [what, 'it has the data of the running project'];
      change(work, { owner, key: 'external' }, told, (resource) => {
        removeKeys(resource, ...Object.keys(resource));
        Object.assign(resource, { name: own, external: true });
      });
    }
}

const kinds = [
  { section: 'volumes', kind: 'volume', isOfHost: isShare },
  { section: 'networks', kind: 'network', isOfHost: isHostNetwork },
] as const;

const ofHost = 'no host permits its driver, options or addresses to a bundle';

/** The name that compose gives a part of a project. */
function nameIn(project: string, name: string, part: Part = {}): string {
  return textAt(part, 'name') || `${project}_${name}`;
}

/** Whether a volume is neither the engine's own, nor one in memory, nor a directory. */
function isShare(part: Part): boolean {
  const type = textAt(partAt(part, 'driver_opts'), 'type') || 'tmpfs';
  return !/^(local)?$/.test(textAt(part, 'driver')) || !/^(tmpfs|none)$/.test(type);
}

function isHostNetwork(part: Part): boolean {
  const subnets = listAt<Part>(partAt(part, 'ipam'), 'config').map((config) => textAt(config, 'subnet'));
  const isOpen = subnets.some((subnet) => subnet !== '' && !subnet.includes('$') && !isPrivateSubnet(subnet));
  return isOpen || /^(macvlan|ipvlan)$/.test(textAt(part, 'driver'));
}

/** Whether the running project has no volume of this name, or one in memory. */
function isNewVolume(name: string, part: Part, { volumes }: ImportWork): boolean {
  return [...volumes.values()].includes(name) || partAt(part, 'driver_opts')['type'] === 'tmpfs';
}

/** Finds volumes and networks whose names change with the name of the project, and directories that became volumes. */
export function findRenamed(work: ImportWork): void {
  const { tree, choices, report, volumes } = work;
  const project = `deployd-${choices.env}`;
  for (const { section, kind } of kinds)
    for (const { name, part } of partsOf(work, section)) {
      if ('name' in part || 'external' in part || isNewVolume(name, part, work)) continue;
      // Every project has a network with this name, which others seldom join.
      if (name === 'default' && Object.keys(part).length === 0) continue;
      report.renamed.push({ kind, from: nameIn(choices.projectName, name), to: nameIn(project, name) });
    }
  for (const [path, name] of volumes)
    if (path.startsWith('~') || (!path.startsWith('/') && tree.kindOf(path) === 'directory'))
      report.renamed.push({ kind: 'directory', from: path, to: nameIn(project, name) });
}
