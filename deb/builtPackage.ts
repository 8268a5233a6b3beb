import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { debNameOf, commandOf, runtimeOf, type Architecture } from './architecture.ts';
import { cacheNameOf } from './package.ts';
import { openCodeCache } from './program/codeCache.ts';
import { buildExecutable } from './program/executable.ts';

const run = promisify(execFile);

/** Where `npm run package` puts packages, and those that tests are about. */
export const buildDirectory = 'build/package';

/** Maximum bytes of the agent's package as released. */
export const maxBytes = 29_000_000;

/**
 * KiB that the package of another program may install: how well a package is compressed differs between a release and a
 * test.
 */
export const maxKib = 122_000;

/** The file of a package, below `buildDirectory`. */
export function debOf(name: string, architecture: Architecture): string {
  return join(buildDirectory, debNameOf(name, manifest.version, architecture));
}

/** Checks by lintian of the program itself, which take longest. */
export const checksOfNode = 'binaries/spelling,libraries/embedded';

/** The findings of lintian for a package. */
export async function lintian(deb: string, ...options: string[]): Promise<{ stdout: string; stderr: string }> {
  return run('lintian', ['--display-info', '--pedantic', '--allow-root', ...options, deb]);
}

/**
 * Digests of the two archives in the agent's package: of this build, and of a second build with the same code cache, in
 * another directory, later and under another umask.
 */
export async function digestsOfBuilds(architecture: Architecture, date: string): Promise<[string[], string[]]> {
  const copy = resolve(buildDirectory, `copy-${architecture}`);
  const tree = ['src', 'machines', 'deb', 'install', 'fixtures', 'package.json', 'CHANGELOG.md'];
  const cache = resolve(buildDirectory, cacheNameOf(manifest.version, architecture));
  const line = `umask 0077 && mkdir ${copy} && cp -r ${tree.join(' ')} ${copy} && cp -r --link node_modules ${copy} &&
    cd ${copy} && exec "$0" deb/package.ts --output out --quick --architecture ${architecture} --format deb --cache ${cache}`;
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(Date.parse(date) / 1000), TZ: 'Asia/Kathmandu', LC_ALL: 'C' };
  try {
    await run('sh', ['-c', line, process.execPath], { env });
    const built = debOf('deployd', architecture);
    return [await digestsOf(built), await digestsOf(join(copy, 'out', basename(built)))];
  } finally {
    await rm(copy, { recursive: true });
  }
}

async function digestsOf(deb: string): Promise<string[]> {
  const digestOf = async (part: string) => (await run('sh', ['-c', `dpkg-deb ${part} ${deb} | sha256sum`])).stdout;
  return Promise.all(['--fsys-tarfile', '--ctrl-tarfile'].map(digestOf));
}

/** `accepted` where the runtime of the package takes its code cache, else `rejected`; `probe` is the program that asks it. */
export async function probeCodeCache(architecture: Architecture, probe: string): Promise<string> {
  const runtime = await runtimeOf(architecture);
  // Its own process, as for the package: what Jest evaluates for the bundler differs in its realm.
  const bundle = `import { bundleProgram } from './deb/bundle.ts';
    process.stdout.write((await bundleProgram('src/agent/cli.ts')).source);`;
  const bundled = ['--input-type=module', '--eval', bundle];
  const { stdout: source } = await run(process.execPath, bundled, { maxBuffer: 2 ** 26 });
  const cacheFile = join(buildDirectory, cacheNameOf(manifest.version, architecture));
  const cache = openCodeCache(await readFile(cacheFile), source, runtime);
  await buildExecutable(probe, { source, cache, loader: 'deb/program/codeCacheProbe.ts', runtime });
  const [command, ...args] = commandOf(runtime, probe);
  return (await run(command, args)).stdout.trim();
}
