import { printable } from '../../core/text.rules.ts';
import { isPrivateSubnet } from '../policy/topLevel.rules.ts';
import { type ImportWork, partsOf, servicesOf, tellChange } from './importWork.rules.ts';
import { type Part, listAt, partAt, removeKeys, textAt } from './model.rules.ts';

/** Turns networks of a swarm into networks of one host, and takes out the names of bridges, which no host permits. */
export function replaceNetworkDrivers(work: ImportWork): void {
  for (const { part, owner } of partsOf(work, 'networks')) {
    if (part['driver'] === 'overlay') {
      removeKeys(part, 'driver', 'driver_opts');
      const why = 'a bundle runs on one host, which is not a swarm';
      tellChange(work, { owner, key: 'driver' }, ['overlay is left out', why]);
    }
    const options = partAt(part, 'driver_opts');
    if (!removeKeys(options, bridgeName)) continue;
    if (Object.keys(options).length === 0) removeKeys(part, 'driver_opts');
    const why = 'no host permits it; the engine names the bridge';
    tellChange(work, { owner, key: 'driver_opts' }, [`${bridgeName} is left out`, why]);
  }
}

const bridgeName = 'com.docker.network.bridge.name';

/**
 * Lets services of the engine's own bridge, which containers of all projects share, join the network of their project;
 * and services that join a container of their project by its name, the service that it belongs to.
 */
export function replaceNamespaces(work: ImportWork): void {
  const services = servicesOf(work);
  const names = new Map(services.map(({ name, part }) => [`container:${textAt(part, 'container_name')}`, name]));
  for (const { part, owner } of services) {
    if (part['network_mode'] === 'bridge' && removeKeys(part, 'network_mode'))
      tellChange(work, { owner, key: 'network_mode' }, ['bridge is left out', 'containers of all projects share it']);
    for (const key of ['network_mode', 'pid', 'ipc']) {
      const service = names.get(textAt(part, key));
      if (service === undefined || part[key] === 'container:') continue;
      const what = `${printable(textAt(part, key))} is written as service:${printable(service)}`;
      part[key] = `service:${service}`;
      tellChange(work, { owner, key }, [what, 'the container belongs to the project']);
    }
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
      const what = `is the ${kind} ${printable(own)} from outside the project now`;
      const [more, why] = isOfHost(part) ? ofHost(kind) : ['', 'it has the data of the running project'];
      removeKeys(part, ...Object.keys(part));
      Object.assign(part, { name: own, external: true });
      tellChange(work, { owner, key: 'external' }, [`${what}${more}`, why]);
    }
}

const kinds = [
  { section: 'volumes', kind: 'volume', isOfHost: isShare },
  { section: 'networks', kind: 'network', isOfHost: isHostNetwork },
] as const;

function ofHost(kind: string): [string, string] {
  return [
    `; make it there as the project has it (docker ${kind} create)`,
    'no host permits its driver, options or addresses to a bundle',
  ];
}

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
