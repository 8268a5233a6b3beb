import { YAMLSeq } from 'yaml';
import type { Node } from 'yaml';
import { tellChange, type ImportWork } from './importWork.ts';
import { ownMapOf, servicePartsOf, servicesOf, type ProjectService } from './services.ts';
import {
  effectivePair,
  newMap,
  newScalar,
  ownValue,
  plainScalar,
  removeKey,
  setValue,
  textAt,
  valueAt,
  writtenOut,
  type ListNode,
  type MapNode,
} from './yamlNodes.ts';

/** Reserves GPUs for the services of NVIDIA's runtime, which a host can permit by the name of the service. */
export function replaceGpuRuntime(work: ImportWork): void {
  for (const service of work.documents.flatMap(servicesOf)) {
    const { name, layers, document } = service;
    if (textAt(effectivePair(layers, 'runtime')?.value, document) !== 'nvidia') continue;
    reserveGpus(service);
    const what = 'nvidia is a reservation of all GPUs now';
    tellChange(work, { owner: `service ${name}`, key: 'runtime' }, [what, 'a host permits GPUs, but no runtimes']);
  }
  for (const { map, document } of servicePartsOf(work.documents))
    if (textAt(valueAt(map, document, 'runtime'), document) === 'nvidia') removeKey(map, 'runtime');
}

/** Adds `deploy.resources.reservations.devices`, unless the service has some or `gpus`. */
function reserveGpus(service: ProjectService): void {
  const { layers, document } = service;
  const before = effectivePair(layers, 'deploy')?.value ?? null;
  const hasSome = valueAt(before, document, 'resources', 'reservations', 'devices') !== null;
  if (hasSome || effectivePair(layers, 'gpus') !== null) return;
  const deploy = (writtenOut(before, document) as MapNode | null) ?? newMap();
  setValue(below(below(deploy, 'resources'), 'reservations'), 'devices', listOf([allGpus()]));
  setValue(ownMapOf(service), 'deploy', deploy);
}

function allGpus(): MapNode {
  const device = newMap();
  setValue(device, 'driver', newScalar('nvidia'));
  setValue(device, 'count', plainScalar('all'));
  setValue(device, 'capabilities', listOf([newScalar('gpu')]));
  return device;
}

function below(map: MapNode, key: string): MapNode {
  const inner = (ownValue(map, key) as MapNode | null | undefined) ?? newMap();
  setValue(map, key, inner);
  return inner;
}

function listOf(items: Node[]): ListNode {
  const list = new YAMLSeq<Node>();
  list.items = items;
  return list;
}
