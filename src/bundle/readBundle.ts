import { join } from 'node:path';
import { Fault, throwIfStopped } from '../../machines/fault.ts';
import { type Refusal, type RefusedFault, refusalWith } from '../../machines/refusals.ts';
import type { Manifest, Sha } from '../../machines/types.ts';
import { type BundleContents, executablesOf, pathsOf } from './archive/inventory.rules.ts';
import { contentFaults, type FileSign, IGNORE_NAME, maxIgnoreBytes, signOf } from './archive/leftOut.rules.ts';
import { type BundleFacts, manifestEnvOf } from './plan/plan.rules.ts';
import { maxManifestCharacters, parseManifest } from '../api/manifest.rules.ts';
import { digestsOf, readComposeProject, readEnvTexts } from './compose/composeFiles.ts';
import { readCapped } from '../core/files.ts';
import type { FileHead } from './plan/notices.rules.ts';
import { executedFiles } from './plan/hostFaults.rules.ts';

/** The files of a bundle below `dir`; `readContents` unpacks or lists them, and may throw a refusal. */
export interface BundleSource {
  /** Null for a directory. */
  sha: Sha | null;
  dir: string;
  readContents: () => Promise<BundleContents>;
}

/** An unpacked bundle; the sha is null for a directory. */
export interface UnpackedBundle {
  sha: Sha | null;
  dir: string;
  manifest: Manifest;
  contents: BundleContents;
}

/**
 * Reads a bundle for an environment, by default the manifest's. Returns the refusal if the bundle cannot be validated
 * at all.
 */
export async function readBundle(
  { sha, dir, readContents }: BundleSource,
  env?: string,
): Promise<UnpackedBundle | { refusal: Refusal }> {
  try {
    const contents = await readContents();
    const parsed = await readManifest(dir, env);
    return 'refusal' in parsed ? parsed : { sha, dir, contents, ...parsed };
  } catch (error) {
    const [refusal] = error instanceof Fault ? error.refusals : [];
    if (refusal === undefined) throw error;
    return { refusal };
  }
}

/**
 * Reads the manifest of an unpacked bundle for an environment, by default its own; `MANIFEST_INVALID` if it is missing
 * or invalid.
 */
export async function readManifest(dir: string, env?: string): Promise<{ manifest: Manifest } | { refusal: Refusal }> {
  const text = await readManifestText(dir);
  if (text !== null) return parseManifest(text, env ?? manifestEnvOf(text));
  const fault = { text: 'the bundle has no manifest.json at its root', cure: 'pack it with one' };
  return { refusal: refusalWith('MANIFEST_INVALID', [fault]) };
}

/** The text of the manifest of an unpacked bundle; null when it is missing. */
export function readManifestText(dir: string): Promise<string | null> {
  return readCapped(join(dir, 'manifest.json'), 4 * maxManifestCharacters + 4);
}

/** The facts of a bundle for the rules. Throws Fault `stopped` on abort. */
export async function bundleFactsOf(bundle: UnpackedBundle, signal: AbortSignal): Promise<BundleFacts> {
  const { contents, manifest, sha } = bundle;
  const { project, refusals } = await readComposeProject(bundle, signal);
  const texts = await readEnvTexts(bundle, project, signal);
  const [digests, releaseFiles] = [digestsOf(contents, project), pathsOf(contents)];
  const fileSizes = new Map(contents.files.map(({ path, size }) => [path, size]));
  const { version, variables } = manifest;
  const ofFiles = { digests, releaseFiles, executables: executablesOf(contents), fileSizes, texts };
  const facts = { sha, version, variables, manifest, project, refusals, ...ofFiles };
  return { ...facts, heads: await readHeads(bundle, facts) };
}

/** Number of bytes to read from a file to detect its type of program and its line endings. */
const headBytes = 65_536;
/** Largest number of files to examine this way. */
const maxHeads = 200;

/** Reads the start of the files that services execute. */
async function readHeads({ dir, contents }: UnpackedBundle, facts: BundleFacts): Promise<Map<string, FileHead>> {
  const executables = new Map(contents.files.map(({ path, executable }) => [path, executable]));
  const paths = executedFiles(facts, [...executables.keys()]).slice(0, maxHeads);
  const heads = new Map<string, FileHead>();
  for (const path of paths) {
    const text = await readCapped(join(dir, path), headBytes, 'latin1');
    if (text !== null) heads.set(path, { text, isExecutable: executables.get(path) === true });
  }
  return heads;
}

/** Number of bytes of a file to search for keys and tokens. */
const searchedBytes = 2 ** 20;

/**
 * Checks the files of a bundle, for programs that pack, verify or receive one. A host does not check them
 * (`contentFaults`). Throws Fault `stopped` on abort.
 */
export async function judgeContents(
  { dir, contents: { files, directories } }: Pick<UnpackedBundle, 'dir' | 'contents'>,
  signal: AbortSignal,
): Promise<{ refusals: Refusal[]; notices: RefusedFault[] }> {
  const signs = new Map<string, FileSign>();
  for (const { path } of files) {
    throwIfStopped(signal);
    const sign = signOf(path, (await readCapped(join(dir, path), searchedBytes, 'latin1')) ?? '');
    if (sign !== null) signs.set(path, sign);
  }
  const paths = [
    ...files.map(({ path }) => ({ path, isDirectory: false })),
    ...directories.map((path) => ({ path, isDirectory: true })),
  ];
  const ignoreText = await readCapped(join(dir, IGNORE_NAME), maxIgnoreBytes);
  const { refused, notices } = contentFaults({ paths, signs, ignoreText });
  return { refusals: refused.length === 0 ? [] : [refusalWith('BUNDLE_UNSAFE', refused)], notices };
}
