import { textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { locatePath } from '../policy/bundlePaths.ts';
import { refuseWithoutValue, type Finding, type ValueLocation } from '../policy/finding.ts';
import { nodesAt } from '../effect/keyGap.ts';

/** Bytes that a swarm keeps of a config and of a secret. */
export const maxConfigBytes = 1_024_000 - 1;
export const maxSecretBytes = 512_000 - 1;

/** What a swarm cannot keep for its nodes, because it is empty or too large: files of the bundle, and texts of configs. */
export function keptFileFindings(root: ComposeNode, location: ValueLocation): Finding[] {
  const mounted = nodesAt(root, ['services', '*', 'volumes[]']).flatMap(bindSource);
  const named = (section: string) => nodesAt(root, [section, '*', 'file']);
  return [
    ...[...mounted, ...named('configs')].flatMap((source) => sizeFindings(source, maxConfigBytes, location)),
    ...named('secrets').flatMap((source) => sizeFindings(source, maxSecretBytes, location)),
    ...nodesAt(root, ['configs', '*', 'content']).flatMap((content) => textFindings(content, location)),
  ];
}

function textFindings(content: ComposeNode, location: ValueLocation): Finding[] {
  const problem = { message: 'is empty, which a swarm does not keep', cure: 'write something into it' };
  return textOf(content) === ''
    ? refuseWithoutValue(content, { ...location, keyPath: 'configs.*.content' }, problem)
    : [];
}

function bindSource(mount: ComposeNode): ComposeNode[] {
  if (mount.kind === 'map') return [valueAt(mount, 'source')].filter((source) => source !== undefined);
  const [source = ''] = (textOf(mount) ?? '').split(':');
  return mount.kind === 'scalar' && source.startsWith('.') ? [{ ...mount, text: source }] : [];
}

function sizeFindings(source: ComposeNode, most: number, location: ValueLocation): Finding[] {
  const { facts } = location;
  const place = locatePath(textOf(source) ?? '', facts);
  const size = place.kind === 'file' ? facts.fileSizes?.get(place.path) : undefined;
  if (size === undefined || (size > 0 && size <= most)) return [];
  const fault = size === 0 ? 'is empty' : `has more than ${most} bytes`;
  return refuseWithoutValue(
    source,
    { ...location, keyPath: 'a file of the bundle' },
    {
      message: `${fault}, which a swarm does not keep`,
      cure: size === 0 ? 'write something into it' : 'put it into an image',
    },
  );
}
