import { chmod, constants, copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { Fault, throwIfStopped } from '../../machines/fault.ts';
import { diskFault, withDiskFault } from '../platform/errors/diskFault.ts';
import { withBundleAt } from './bundleAt.ts';
import type { BundleLimits } from './bundleLimits.ts';
import type { DiskProject } from './diskProject.ts';
import { MANIFEST_NAME } from './pack.ts';
import { bundleFactsOf } from './readBundle.ts';
import type { ImportedBundle } from './rules/import/importProject.ts';
import { verdictOf, type ImportVerdict } from './rules/import/importVerdict.ts';
import { abortedPlan } from './rules/plan/plan.ts';

/** Whether a directory can be made, or is empty, so that nothing is overwritten. */
export async function isFree(directory: string): Promise<boolean> {
  const found = await stat(directory).catch(() => null);
  return (
    found === null ||
    (found.isDirectory() && (await withDiskFault('read', directory, () => readdir(directory))).length === 0)
  );
}

/** Writes the bundle into a directory that `isFree`: all of it or nothing. Throws Faults of the disk. */
export async function writeImportedBundle(
  directory: string,
  { bundle, project }: { bundle: ImportedBundle; project: DiskProject },
  signal: AbortSignal,
): Promise<void> {
  const temporary = `${directory}.${process.pid}.tmp`;
  try {
    await withDiskFault('write', temporary, () => mkdir(temporary, { recursive: true }));
    const texts = [[MANIFEST_NAME, `${JSON.stringify(bundle.manifest, null, 2)}\n`] as const, ...bundle.composeFiles];
    for (const [path, text] of texts) await writeNew(await placeIn(temporary, path), text);
    for (const [path, from] of bundle.copies) {
      throwIfStopped(signal);
      await copyNew(project.fileAt(from), await placeIn(temporary, path));
    }
    await withDiskFault('write', directory, () => rename(temporary, directory));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Judges the bundle as a host does that permits what it asks for. */
export async function judgeImportedBundle(
  directory: string,
  limits: BundleLimits,
  signal: AbortSignal,
): Promise<ImportVerdict> {
  return withBundleAt({ path: directory, limits, signal }, async (bundle) => {
    if ('refusal' in bundle) return { permits: {}, plan: abortedPlan([bundle.refusal], bundle.sha) };
    return verdictOf(await bundleFactsOf(bundle, signal));
  });
}

/** A file below a directory, whose own directory is made. Nothing outside of it is ever written. */
async function placeIn(directory: string, path: string): Promise<string> {
  const file = resolve(directory, path);
  if (!file.startsWith(`${directory}${sep}`)) throw new Fault('failed', `failed: ${path} would lie outside the bundle`);
  await withDiskFault('write', file, () => mkdir(dirname(file), { recursive: true }));
  return file;
}

async function writeNew(file: string, text: string): Promise<void> {
  await withDiskFault('write', file, () => writeFile(file, text, { flag: 'wx' }));
}

/** Copies a file with its executable bit, but no other of its mode. */
async function copyNew(from: string | null, file: string): Promise<void> {
  if (from === null) throw new Fault('failed', `failed: a file was removed while it was copied to ${file}`);
  try {
    const { mode } = await stat(from);
    await copyFile(from, file, constants.COPYFILE_EXCL);
    await chmod(file, (mode & 0o100) === 0 ? 0o644 : 0o755);
  } catch (error) {
    throw diskFault('write', file, error);
  }
}
