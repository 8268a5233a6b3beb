import { printable } from '../../../protocol/printable.ts';
import { leaveUndecided, type ImportWork } from './importWork.ts';
import { effectiveOf, ownerOf, serviceNamesOf } from './services.ts';
import { itemsAt, textAt, valueAt } from './yamlNodes.ts';

/**
 * Leaves services with a read-only filesystem to decide that have a config or secret which is no file: compose copies it
 * into the container, which the engine refuses.
 */
export function findReadOnlyServices(work: ImportWork): void {
  for (const service of serviceNamesOf(work.documents)) {
    const found = effectiveOf(work.documents, service, 'read_only');
    const isReadOnly = /^(true|yes|on|y)$/i.test(found === null ? '' : (textAt(found.value, found.document) ?? ''));
    const copied = isReadOnly
      ? [...copiedContents(service, 'secret', work), ...copiedContents(service, 'config', work)]
      : [];
    for (const content of copied)
      leaveUndecided(work, { owner: ownerOf([service]), key: 'read_only' }, [
        `compose cannot copy the ${content} into it`,
        'leave read_only out, or give the service its content by a file or by environment',
      ]);
  }
}

/** Names of the contents of a service that are no files, with their kind. */
function copiedContents(service: string, kind: 'secret' | 'config', { documents }: ImportWork): string[] {
  const found = effectiveOf(documents, service, `${kind}s`);
  if (found === null) return [];
  return itemsAt(found.value, found.document).flatMap((item) => {
    const name = textAt(valueAt(item, found.document, 'source') ?? item, found.document);
    const has = (key: string) =>
      documents.some((document) => valueAt(document.root, document, `${kind}s`, name ?? '', key) !== null);
    return name !== null && (has('environment') || has('content')) && !has('file')
      ? [`${kind} ${printable(name)}`]
      : [];
  });
}
