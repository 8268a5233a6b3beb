import { printable } from '../../core/text.rules.ts';
import { isPrivateSubnet } from '../policy/topLevel.rules.ts';
import { type ImportWork, tellChange } from './importWork.rules.ts';
import {
  effectiveOf,
  type ProjectDocument,
  sectionOf,
  serviceNamesOf,
  servicePartsOf,
} from './projectDocument.rules.ts';
import {
  entriesAt,
  isYesAt,
  itemsAt,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  plainScalar,
  removeKey,
  setValue,
  textAt,
  valueAt,
} from './yamlNodes.rules.ts';

/** Turns networks of a swarm into networks of one host. */
export function replaceOverlays(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [name, network] of entriesAt(valueAt(document.root, document, 'networks'), document)) {
      const map = mapAt(network, document);
      if (map === null || textAt(valueAt(map, document, 'driver'), document) !== 'overlay') continue;
      for (const key of ['driver', 'driver_opts']) removeKey(map, key);
      const place = { owner: `network ${name}`, key: 'driver' };
      tellChange(work, place, ['overlay is left out', 'a bundle runs on one host, which is not a swarm']);
    }
  }
}

/** Lets services of the engine's own bridge, which containers of all projects share, join the network of their project. */
export function replaceSharedBridge(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const isShared = textAt(valueAt(map, document, 'network_mode'), document) === 'bridge';
    if (isShared && removeKey(map, 'network_mode'))
      tellChange(work, { owner, key: 'network_mode' }, ['bridge is left out', 'containers of all projects share it']);
  }
}

/** Lets services that join a container of their project by its name join the service that it belongs to. */
export function replaceOwnContainers(work: ImportWork): void {
  const { documents } = work;
  const services = new Map(
    serviceNamesOf(documents).flatMap((service) => {
      const found = effectiveOf(documents, service, 'container_name');
      const name = found === null ? null : textAt(found.value, found.document);
      return name === null ? [] : [[name, service] as const];
    }),
  );
  for (const { map, document, owner } of servicePartsOf(documents)) {
    for (const key of ['network_mode', 'pid', 'ipc']) {
      const written = textAt(valueAt(map, document, key), document) ?? '';
      const service = services.get(/^container:(.*)$/s.exec(written)?.[1] ?? '');
      if (service === undefined) continue;
      setValue(map, key, newScalar(`service:${service}`));
      const what = `${printable(written)} is written as service:${printable(service)}`;
      tellChange(work, { owner, key }, [what, 'the container belongs to the project']);
    }
  }
}

/** Takes out the names of bridges on the host, which no host permits. */
export function removeBridgeNames(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [name, network] of entriesAt(valueAt(document.root, document, 'networks'), document)) {
      const options = mapAt(valueAt(network, document, 'driver_opts'), document);
      if (!removeKey(options, bridgeName)) continue;
      if (options?.items.length === 0) removeKey(mapAt(network, document), 'driver_opts');
      tellChange(work, { owner: `network ${name}`, key: 'driver_opts' }, [
        `${bridgeName} is left out`,
        'no host permits it; the engine names the bridge',
      ]);
    }
  }
}

const bridgeName = 'com.docker.network.bridge.name';

/**
 * Takes volumes and networks that no host permits to a bundle from outside the project, such as shares and networks on
 * a device of the host. Their operator creates them, and permits them by the names that compose gave them.
 */
export function replaceHostResources(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [kind, isOfHost] of Object.entries(kinds)) {
      for (const [name, part] of entriesAt(valueAt(document.root, document, `${kind}s`), document)) {
        const map = mapAt(part, document);
        if (isYesAt(valueAt(map, document, 'external'), document)) continue;
        if (map !== null && isOfHost(map, document)) becomeExternal(map, { kind, name, document }, work);
        else if (kind === 'volume' && work.choices.keepVolumes && !isNewVolume(name, map, { document, work }))
          keepVolume({ kind, name, document }, work);
      }
    }
  }
}

const kinds: Readonly<Record<string, (map: MapNode, document: ProjectDocument) => boolean>> = {
  volume: isShare,
  network: isHostNetwork,
};

/** Whether a volume is neither the engine's own, nor one in memory, nor a directory. */
function isShare(map: MapNode, document: ProjectDocument): boolean {
  const type = textAt(valueAt(map, document, 'driver_opts', 'type'), document) ?? 'tmpfs';
  return !/^(local)?$/.test(textAt(valueAt(map, document, 'driver'), document) ?? '') || !/^(tmpfs|none)$/.test(type);
}

function isHostNetwork(map: MapNode, document: ProjectDocument): boolean {
  const configs = itemsAt(valueAt(map, document, 'ipam', 'config'), document);
  const subnets = configs.flatMap((config) => textAt(valueAt(config, document, 'subnet'), document) ?? []);
  const isOpen = subnets.some((subnet) => !subnet.includes('$') && !isPrivateSubnet(subnet));
  return isOpen || /^(macvlan|ipvlan)$/.test(textAt(valueAt(map, document, 'driver'), document) ?? '');
}

interface Resource {
  kind: string;
  name: string;
  document: ProjectDocument;
}

function becomeExternal(map: MapNode, { kind, name, document }: Resource, work: ImportWork): void {
  const own = nameAnExternal(map, { name, document }, work);
  tellChange(work, { owner: `${kind} ${name}`, key: 'external' }, [
    `is the ${kind} ${printable(own)} from outside the project now; make it there as the project has it (docker ${kind} create)`,
    'no host permits its driver, options or addresses to a bundle',
  ]);
}

/** Leaves only the name that compose gave a part, and returns the name. */
function nameAnExternal(map: MapNode, { name, document }: Omit<Resource, 'kind'>, { choices }: ImportWork): string {
  const own = textAt(valueAt(map, document, 'name'), document) ?? `${choices.projectName}_${name}`;
  map.items = [];
  setValue(map, 'name', newScalar(own));
  setValue(map, 'external', plainScalar('true'));
  return own;
}

function keepVolume({ name, document }: Resource, work: ImportWork): void {
  const volumes = sectionOf(document, 'volumes');
  const map = mapAt(ownValue(volumes, name), document) ?? newMap();
  setValue(volumes, name, map);
  const own = nameAnExternal(map, { name, document }, work);
  tellChange(work, { owner: `volume ${name}`, key: 'external' }, [
    `is the volume ${printable(own)} from outside the project now`,
    'it has the data of the running project',
  ]);
}

interface Named {
  document: ProjectDocument;
  work: ImportWork;
}

/** Whether the running project has no volume of this name, or one in memory. */
function isNewVolume(name: string, map: MapNode | null, { document, work }: Named): boolean {
  const isMade = [...work.volumes.values()].includes(name);
  return isMade || textAt(valueAt(map, document, 'driver_opts', 'type'), document) === 'tmpfs';
}

/** Finds volumes and networks whose names change with the name of the project, and directories that became volumes. */
export function findRenamed(work: ImportWork): void {
  const { tree, choices, report } = work;
  const nameIn = (project: string, name: string) => `${project}_${name}`;
  for (const document of work.documents) {
    for (const kind of ['volume', 'network'] as const) {
      for (const [name, part] of entriesAt(valueAt(document.root, document, `${kind}s`), document)) {
        const map = mapAt(part, document);
        const isNamed = ['external', 'name'].some((key) => valueAt(map, document, key) !== null);
        if (isNamed || isNewVolume(name, map, { document, work })) continue;
        const [from, to] = [choices.projectName, `deployd-${choices.env}`].map((project) => nameIn(project, name));
        if (!report.renamed.some((one) => one.kind === kind && one.to === to))
          report.renamed.push({ kind, from: from ?? '', to: to ?? '' });
      }
    }
  }
  for (const [path, name] of work.volumes)
    if (path.startsWith('~') || (!path.startsWith('/') && tree.kindOf(path) === 'directory'))
      report.renamed.push({ kind: 'directory', from: path, to: nameIn(`deployd-${choices.env}`, name) });
}
