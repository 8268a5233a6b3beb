import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from './architecture.ts';
import { controlOf, md5sumsOf, type ControlTexts } from './control.ts';
import type { PackageVersion } from './packageVersion.ts';
import { writePayload, type Payload } from './payload.ts';

/** Content and metadata of a package. */
export interface DebContents extends PackageVersion {
  architecture: Architecture;
  control: ControlTexts;
  payload: Payload;
  /** Relations to the shared libraries of its program. */
  libraries: string;
  /** Maintainer scripts by path: `/postinst`, …. */
  scripts: Payload;
  compression?: Compression;
}

/** The compression of a package: as released, or in a twentieth of the time, for a package that is only tested. */
export type Compression = keyof typeof compressions;

const compressions = { release: ['-Zxz', '-z6', '--threads-max=2'], quick: ['-Zgzip', '-z1'] };

const run = promisify(execFile);

/**
 * Builds a package. The build is reproducible: the same contents give the same bytes on any machine, at any time, for
 * any user.
 */
export async function buildDebFile(
  output: string,
  { control: texts, payload, scripts, compression = 'release', ...metadata }: DebContents,
): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'deployd-tree-'));
  try {
    await writePayload(root, payload);
    const control = join(root, 'DEBIAN');
    await writePayload(control, scripts);
    await Promise.all(Object.keys(scripts).map((script) => chmod(join(control, script), 0o755)));
    const paths = Object.keys(payload).sort();
    const sizes = await Promise.all(paths.map(async (path) => Math.ceil((await stat(join(root, path))).size / 1024)));
    const installedSize = sizes.reduce((sum, size) => sum + size, 0);
    await writePayload(control, {
      '/control': { text: controlOf(texts, { ...metadata, installedSize }) },
      '/md5sums': { text: await md5sumsOf(root, paths) },
      ...conffilesOf(paths),
    });
    await normalizeMetadata(root, metadata.date);
    const options = ['--root-owner-group', '--uniform-compression', ...compressions[compression]];
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(metadata.date.getTime() / 1000) };
    await run('dpkg-deb', [...options, '--build', root, output], { env });
  } finally {
    await rm(root, { recursive: true });
  }
}

/** Files below /etc are the administrator's: an upgrade keeps his changes, and his removal. */
function conffilesOf(paths: string[]): Payload {
  const files = paths.filter((path) => path.startsWith('/etc/'));
  return files.length === 0 ? {} : { '/conffiles': { text: files.map((path) => `${path}\n`).join('') } };
}

/** Sets directory modes and timestamps, which otherwise depend on the umask and the clock. */
async function normalizeMetadata(root: string, date: Date): Promise<void> {
  await run('find', [root, '-type', 'd', '-exec', 'chmod', '0755', '{}', '+']);
  await run('find', [root, '-exec', 'touch', '--no-dereference', '--date', date.toISOString(), '{}', '+']);
}
