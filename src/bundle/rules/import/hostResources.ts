import { printable } from '../../../protocol/printable.ts';
import { isPrivateSubnet } from '../compose/policy/subnets.ts';
import { tellChange, type ImportWork } from './importWork.ts';
import type { ProjectDocument } from './projectDocument.ts';
import {
  entriesAt,
  isYesAt,
  itemsAt,
  mapAt,
  newScalar,
  plainScalar,
  setValue,
  textAt,
  valueAt,
  type MapNode,
} from './yamlNodes.ts';

/**
 * Takes volumes and networks that no host permits to a bundle from outside the project, such as shares and networks on a device
 * of the host: their operator makes them, and permits them by the names that compose gave them.
 */
export function replaceHostResources(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [kind, isOfHost] of Object.entries(kinds)) {
      for (const [name, part] of entriesAt(valueAt(document.root, document, `${kind}s`), document)) {
        const map = mapAt(part, document);
        if (map !== null && !isYesAt(valueAt(map, document, 'external'), document) && isOfHost(map, document))
          becomeExternal(map, { kind, name, document }, work);
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
  const own = textAt(valueAt(map, document, 'name'), document) ?? `${projectNameOf(work)}_${name}`;
  map.items = [];
  setValue(map, 'name', newScalar(own));
  setValue(map, 'external', plainScalar('true'));
  tellChange(work, { owner: `${kind} ${name}`, key: 'external' }, [
    `is the ${kind} ${printable(own)} from outside the project now; make it there as the project has it (docker ${kind} create)`,
    'no host permits its driver, options or addresses to a bundle',
  ]);
}

/** The project's name as compose makes it of that of a directory. */
function projectNameOf({ choices }: ImportWork): string {
  return choices.name
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');
}
