import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { refused } from '../../../machines/fault.ts';
import type { Bundle, Refusal } from '../../../machines/words.ts';
import { labelFilesOf } from '../../rules/compose/contents.ts';
import { parseComposeFile } from '../../rules/compose/file.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';

/** The compose files that the manifest names, parsed; what cannot be understood is a refusal, told beside others. */
export async function readComposeFiles({ dir, manifest }: Bundle) {
  const parsed = await Promise.all(
    manifest.compose.map(async (path) => parseComposeFile(path, await textOf(join(dir, path), path))),
  );
  const faults = parsed.flatMap((each) => ('faults' in each ? each.faults : []));
  const files: ComposeFile[] = parsed.flatMap((each) => ('file' in each ? [each.file] : []));
  const refusals: Refusal[] = faults.length > 0 ? [{ code: 'COMPOSE_REFUSED', detail: faults.join('; ') }] : [];
  return { files, refusals };
}

/** The texts of the bundle's label files, whose labels are judged too. */
export async function labelTextsOf({ dir }: Bundle, files: ComposeFile[]): Promise<Map<string, string>> {
  const read = async (path: string) => [path, await readFile(join(dir, path), 'utf8').catch(() => null)] as const;
  const texts = await Promise.all(labelFilesOf(files).map(read));
  return new Map(texts.flatMap(([path, text]) => (text === null ? [] : [[path, text]])));
}

/** Every file and directory of the bundle, as paths relative to its root. */
export async function contentsOf(dir: string): Promise<Set<string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return new Set(entries.map((entry) => relative(dir, join(entry.parentPath, entry.name))));
}

async function textOf(file: string, path: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw refused([{ code: 'MANIFEST_INVALID', detail: `compose names ${path}, which is not in the bundle` }]);
  });
}
