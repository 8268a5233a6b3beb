import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Refusal } from '../../../machines/words.ts';
import { digestOf } from '../../adapters/digest.ts';
import { diskFault } from '../../adapters/files.ts';
import { smallText } from '../../adapters/smallText.ts';
import { contentSources, labelFilesOf } from '../../rules/compose/contents.ts';
import { parseComposeFile } from '../../rules/compose/file.ts';
import { shown } from '../../rules/compose/finding.ts';
import { pathsAbove } from '../../rules/compose/paths.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { maxCharacters } from '../../rules/compose/weight.ts';

/** An unpacked bundle, or a release, with the names of its compose files. */
export interface Unpacked {
  dir: string;
  manifest: { compose: string[] };
}

/** The compose files that the manifest names, parsed; what is missing or cannot be understood is a refusal. */
export async function readComposeFiles({ dir, manifest }: Unpacked) {
  const texts = await Promise.all(
    manifest.compose.map(async (path) => ({ path, text: await textOf(join(dir, path)) })),
  );
  const missing = texts.filter(({ text }) => text === null).map(({ path }) => path);
  const together = texts.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
  if (together > maxCharacters && texts.length > 1) return { files: [], refusals: [tooMuch] };
  const parsed = texts.flatMap(({ path, text }) => (text === null ? [] : [parseComposeFile(path, text)]));
  const faults = parsed.flatMap((each) => ('faults' in each ? each.faults : []));
  const files: ComposeFile[] = parsed.flatMap((each) => ('file' in each ? [each.file] : []));
  const refusals: Refusal[] = [
    ...missing.map((path): Refusal => {
      return { code: 'MANIFEST_INVALID', detail: `compose names ${shown(path)}, which is not in the bundle` };
    }),
    ...(faults.length > 0 ? [{ code: 'COMPOSE_REFUSED' as const, detail: faults.join('; ') }] : []),
  ];
  return { files, refusals };
}

/** The texts of the bundle's label files, whose labels are judged too. */
export async function labelTextsOf({ dir }: Unpacked, files: ComposeFile[]): Promise<Map<string, string>> {
  const read = async (path: string) => [path, await textOf(join(dir, path))] as const;
  const texts = await Promise.all(labelFilesOf(files).map(read));
  return new Map(texts.flatMap(([path, text]) => (text === null || text.length > maxCharacters ? [] : [[path, text]])));
}

/** Every file and directory of the bundle, as paths relative to its root. */
export async function contentsOf(dir: string): Promise<Set<string>> {
  return new Set((await entriesOf(dir)).map(({ path }) => path));
}

/** The sha256 of every regular file that reaches a service, by path. */
export async function digestsOf(dir: string, files: ComposeFile[]): Promise<Map<string, string>> {
  const sources = new Set([...contentSources(files).values()].flatMap((each) => each.files));
  const digests = new Map<string, string>();
  for (const { path, isFile } of await entriesOf(dir)) {
    const isReached = isFile && pathsAbove(path).some((above) => sources.has(above));
    if (isReached) digests.set(path, (await digestOf(join(dir, path), new AbortController().signal)) ?? '');
  }
  return digests;
}

async function entriesOf(dir: string): Promise<{ path: string; isFile: boolean }[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw diskFault('read', dir, error);
  });
  return entries.map((entry) => ({ path: relative(dir, join(entry.parentPath, entry.name)), isFile: entry.isFile() }));
}

/** Of a compose file or label file that is too long, enough is read to see it. */
const textOf = (path: string) => smallText(path, 4 * maxCharacters + 4);

/** Several files take as long to read as one of their length together. */
const tooMuch: Refusal = {
  code: 'COMPOSE_REFUSED',
  detail: `the compose files have more than ${maxCharacters} characters together`,
};
