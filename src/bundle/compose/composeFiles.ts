import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { throwIfStopped } from '../../../machines/fault.ts';
import { type Refusal, refusalWith } from '../../../machines/refusals.ts';
import { readCapped } from '../../core/files.ts';
import { printable } from '../../core/text.rules.ts';
import { type BundleContents, reachedDigests } from '../archive/inventory.rules.ts';
import { type ComposeProject, composeProjectOf, envAndLabelFiles } from './composeProject.rules.ts';
import { parseComposeFile } from './composeFile.rules.ts';
import { type ComposeFile, maxCharacters } from './composeNode.rules.ts';
import { maxServices } from './services.rules.ts';
import { withManifestVariables } from './variables.rules.ts';

/** An unpacked bundle or a release, with the names of its compose files. */
export interface ComposeSource {
  dir: string;
  manifest: { compose: string[]; variables?: Readonly<Record<string, string>>; profiles?: readonly string[] };
  /** The files of the bundle, if `dir` may contain other files too. */
  contents?: BundleContents;
}

/**
 * Parses the compose files that the manifest names, with the values of its variables; a missing or invalid file is a refusal. Throws Fault `stopped` between
 * files.
 */
export async function readComposeProject(
  { dir, manifest, contents }: ComposeSource,
  signal: AbortSignal,
): Promise<{ project: ComposeProject; refusals: Refusal[] }> {
  const projectOf = (files: readonly ComposeFile[]) => composeProjectOf(files, manifest.profiles);
  const isIn = (path: string) => contents?.files.some((file) => file.path === path) ?? true;
  const texts: { path: string; text: string | null }[] = [];
  for await (const path of withYields(manifest.compose, signal))
    texts.push({ path, text: isIn(path) ? await readComposeText(join(dir, path)) : null });
  const missing = texts.filter(({ text }) => text === null).map(({ path }) => path);
  const totalLength = texts.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
  if (totalLength > maxCharacters && texts.length > 1) return { project: projectOf([]), refusals: [tooLongRefusal] };
  const parsed: ReturnType<typeof parseComposeFile>[] = [];
  for await (const { path, text } of withYields(texts, signal))
    if (text !== null) parsed.push(parseComposeFile(path, text));
  const problems = parsed.flatMap((result) => ('problems' in result ? result.problems : []));
  const files = parsed.flatMap((result) =>
    'file' in result ? [withManifestVariables(result.file, manifest.variables ?? {})] : [],
  );
  const refusals: Refusal[] = [
    ...missing.map((path) =>
      refusalWith('MANIFEST_INVALID', [
        { text: `compose names ${printable(path)}, which is not in the bundle`, cure: 'pack it, or leave it out' },
      ]),
    ),
    ...(problems.length > 0 ? [refusalWith('COMPOSE_REFUSED', problems)] : []),
  ];
  const project = projectOf(files);
  const over = [...project.services.keys()][maxServices];
  return over === undefined ? { project, refusals } : { project: projectOf([]), refusals: [tooManyServices(over)] };
}

function tooManyServices(service: string): Refusal {
  const text = `service ${printable(service)}: more than ${maxServices} containers in the bundle`;
  return refusalWith('COMPOSE_REFUSED', [{ text, cure: 'divide the bundle' }]);
}

/** The texts of the bundle's env files and label files, by path; missing and too long ones are left out. */
export async function readEnvTexts({ dir }: ComposeSource, project: ComposeProject, signal: AbortSignal) {
  const texts = new Map<string, string>();
  for await (const path of withYields(envAndLabelFiles(project), signal)) {
    const text = await readComposeText(join(dir, path));
    if (text !== null && text.length <= maxCharacters) texts.set(path, text);
  }
  return texts;
}

/** Yields the items and lets the event loop run before each, so that a signal is noticed. Throws Fault `stopped`. */
async function* withYields<T>(items: readonly T[], signal: AbortSignal): AsyncGenerator<T> {
  for (const item of items) {
    await setImmediate();
    throwIfStopped(signal);
    yield item;
  }
}

/** The sha256 of every file that a service uses, by path. */
export function digestsOf(contents: BundleContents, { sources }: ComposeProject): Map<string, string> {
  return reachedDigests(contents, new Set([...sources.values()].flatMap(({ files }) => files)));
}

/** Reads at most what proves that a file exceeds maxCharacters; UTF-8 takes up to 4 bytes per character. */
const readComposeText = (path: string) => readCapped(path, 4 * maxCharacters + 4);

/** The limit holds for all compose files together, since parsing time grows with the total length. */
const tooLongRefusal = refusalWith('COMPOSE_REFUSED', [
  { text: `the compose files have more than ${maxCharacters} characters together`, cure: 'divide the bundle' },
]);
