import { printable } from '../../../protocol/printable.ts';
import { modeOf } from '../compose/effect/contentAccess.ts';
import { tellChange, type ImportWork } from './importWork.ts';
import { servicePartsOf, type ServicePart } from './services.ts';
import { itemsAt, mapAt, removeKey, textAt, valueAt, type MapNode } from './yamlNodes.ts';

/** Takes out what compose accepts on one host and does not do, where nothing depends on it. */
export function removeUselessKeys(work: ImportWork): void {
  const mounted = mountedContents(work);
  for (const part of servicePartsOf(work.documents)) {
    removeWindowsKeys(work, part);
    removeAttempts(work, part);
    removeMaxReplicas(work, part);
    for (const section of ['configs', 'secrets']) {
      for (const item of itemsAt(valueAt(part.map, part.document, section), part.document)) {
        const reference = mapAt(item, part.document);
        const source = textAt(valueAt(reference, part.document, 'source'), part.document) ?? '';
        if (reference !== null && mounted.has(`${section} ${source}`)) removeOwner(work, { part, section, reference });
      }
    }
  }
}

/** Configs and secrets that are files of the bundle. */
function mountedContents({ documents }: ImportWork): ReadonlySet<string> {
  const names = documents.flatMap((document) =>
    ['configs', 'secrets'].flatMap((section) =>
      (mapAt(valueAt(document.root, document, section), document)?.items ?? []).flatMap(({ key, value }) =>
        valueAt(value, document, 'file') === null ? [] : [`${section} ${key.value}`],
      ),
    ),
  );
  return new Set(names);
}

function removeWindowsKeys(work: ImportWork, { map, owner }: ServicePart): void {
  for (const key of ['cpu_count', 'cpu_percent'])
    if (removeKey(map, key)) tellChange(work, { owner, key }, ['is left out', 'only Windows has it']);
}

function removeAttempts(work: ImportWork, { map, document, owner }: ServicePart): void {
  const policy = mapAt(valueAt(map, document, 'deploy', 'restart_policy'), document);
  const condition = textAt(valueAt(policy, document, 'condition'), document) ?? 'any';
  if (condition !== 'any' || !removeKey(policy, 'max_attempts')) return;
  const key = 'deploy.restart_policy.max_attempts';
  tellChange(work, { owner, key }, ['is left out', 'an engine counts attempts only on failure']);
}

function removeMaxReplicas(work: ImportWork, { map, document, owner }: ServicePart): void {
  const key = 'deploy.placement.max_replicas_per_node';
  const placement = mapAt(valueAt(map, document, 'deploy', 'placement'), document);
  const most = Number(textAt(valueAt(placement, document, 'max_replicas_per_node'), document) ?? 0);
  const replicas = Number(textAt(valueAt(map, document, 'deploy', 'replicas'), document) ?? 1);
  if (most === 0 || replicas <= most || !removeKey(placement, 'max_replicas_per_node')) return;
  tellChange(work, { owner, key }, ['is left out', `compose starts ${replicas} on one host`]);
}

/** Owner and mode of a mounted file that everybody may read and nobody runs. */
function removeOwner(
  work: ImportWork,
  { part, section, reference }: { part: ServicePart; section: string; reference: MapNode },
): void {
  const { document, owner } = part;
  const written = textAt(valueAt(reference, document, 'mode'), document);
  const mode = written === null ? 0o444 : modeOf(written);
  if (mode === null || (mode & 0o444) !== 0o444) return;
  for (const key of ['uid', 'gid']) {
    if (!removeKey(reference, key)) continue;
    const why = `everybody may read the file${written === null ? '' : ` (${printable(written)})`}, and compose changes no owner`;
    tellChange(work, { owner, key: `${section}.${key}` }, ['is left out', why]);
  }
}
