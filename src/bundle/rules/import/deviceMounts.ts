import { isSeq, YAMLSeq, type Node } from 'yaml';
import { printable } from '../../../protocol/printable.ts';
import { tellChange, type ImportWork } from './importWork.ts';
import { bindSourceOf } from './rebase.ts';
import { servicePartsOf, type ServicePart } from './services.ts';
import { newScalar, ownValue, removeKey, setValue, textAt, valueAt, type ListNode } from './yamlNodes.ts';

/** Makes devices of mounted device files, which a host can permit by name. */
export function replaceDeviceMounts(work: ImportWork): void {
  for (const part of servicePartsOf(work.documents)) {
    const volumes = ownList(part, 'volumes');
    const mounts = volumes?.items.filter((mount) => deviceOf(mount, part) !== null) ?? [];
    if (volumes === null || mounts.length === 0) continue;
    const devices = ownList(part, 'devices') ?? new YAMLSeq<Node>();
    const all = mounts.flatMap((mount) => deviceOf(mount, part) ?? []);
    devices.items.push(...all.map(newScalar));
    setValue(part.map, 'devices', devices);
    volumes.items = volumes.items.filter((mount) => !mounts.includes(mount));
    if (volumes.items.length === 0) removeKey(part.map, 'volumes');
    for (const device of all)
      tellChange(work, { owner: part.owner, key: 'volumes' }, [
        `${printable(device)} is under devices now`,
        'it is a device file',
      ]);
  }
}

/** A list that stands in the mapping itself, and no alias. */
function ownList({ map }: ServicePart, key: string): ListNode | null {
  const value = ownValue(map, key);
  return isSeq(value) ? (value as ListNode) : null;
}

/** A mount of a device file as `devices` has it; null for any other mount. */
function deviceOf(mount: Node, { document }: ServicePart): string | null {
  const [source] = bindSourceOf(mount, document);
  if (source === undefined) return null;
  const [from = '', short = ''] = source.value.split(':');
  const target = textAt(valueAt(mount, document, 'target'), document) ?? short;
  return /^\/dev\/(?!shm(\/|$))[^$]+$/.test(from) && !target.includes('$') ? `${from}:${target}` : null;
}
