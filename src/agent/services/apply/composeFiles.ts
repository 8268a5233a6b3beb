import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { heed } from '../../../../machines/fault.ts';
import type { Refusal } from '../../../../machines/words.ts';
import { smallText } from '../../adapters/files/smallText.ts';
import { contentSources, textFilesOf } from '../../rules/compose/contents.ts';
import { parseComposeFile } from '../../rules/compose/file.ts';
import { printable } from '../../../protocol/printable.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { maxCharacters } from '../../rules/compose/weight.ts';
import { digestsReached, type Contents } from '../../rules/bundle/inventory.ts';

/** An unpacked bundle, or a release, with the names of its compose files. */
export interface Unpacked {
  dir: string;
  manifest: { compose: string[] };
}

/**
 * The compose files that the manifest names, parsed; what is missing or cannot be understood is a refusal. Throws `stopped`
 * between any two of them.
 */
export async function readComposeFiles({ dir, manifest }: Unpacked, signal: AbortSignal) {
  const texts: { path: string; text: string | null }[] = [];
  for await (const path of paced(manifest.compose, signal)) texts.push({ path, text: await textOf(join(dir, path)) });
  const missing = texts.filter(({ text }) => text === null).map(({ path }) => path);
  const together = texts.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
  if (together > maxCharacters && texts.length > 1) return { files: [], refusals: [tooMuch] };
  const parsed: ReturnType<typeof parseComposeFile>[] = [];
  for await (const { path, text } of paced(texts, signal)) if (text !== null) parsed.push(parseComposeFile(path, text));
  const faults = parsed.flatMap((each) => ('faults' in each ? each.faults : []));
  const files: ComposeFile[] = parsed.flatMap((each) => ('file' in each ? [each.file] : []));
  const refusals: Refusal[] = [
    ...missing.map((path): Refusal => {
      return { code: 'MANIFEST_INVALID', detail: `compose names ${printable(path)}, which is not in the bundle` };
    }),
    ...(faults.length > 0 ? [{ code: 'COMPOSE_REFUSED' as const, detail: faults.join('; ') }] : []),
  ];
  return { files, refusals };
}

/** The texts of the bundle's env files and label files, which are judged too. */
export async function envTextsOf({ dir }: Unpacked, files: ComposeFile[], signal: AbortSignal) {
  const texts = new Map<string, string>();
  for await (const path of paced(textFilesOf(files), signal)) {
    const text = await textOf(join(dir, path));
    if (text !== null && text.length <= maxCharacters) texts.set(path, text);
  }
  return texts;
}

/** One after the other, with room for a signal between any two. Throws `stopped`. */
async function* paced<T>(items: readonly T[], signal: AbortSignal): AsyncGenerator<T> {
  for (const item of items) {
    await setImmediate();
    heed(signal);
    yield item;
  }
}

/** The sha256 of every file that reaches a service, by path. */
export function digestsOf(contents: Contents, files: ComposeFile[]): Map<string, string> {
  return digestsReached(contents, new Set([...contentSources(files).values()].flatMap((each) => each.files)));
}

/** Of a compose file, env file or label file that is too long, enough is read to see it. */
const textOf = (path: string) => smallText(path, 4 * maxCharacters + 4);

/** Several files take as long to read as one of their length together. */
const tooMuch: Refusal = {
  code: 'COMPOSE_REFUSED',
  detail: `the compose files have more than ${maxCharacters} characters together`,
};
