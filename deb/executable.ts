import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';

/** What goes into the executable beside the runtime. */
export interface Parts {
  source: string;
  /** Without its head. */
  cache: Buffer;
  /** What it starts with. */
  loader?: string;
}

const run = promisify(execFile);

/** Makes one program of Node and the agent; the same parts give the same bytes, wherever and whenever. */
export async function buildExecutable(
  output: string,
  { source, cache, loader = 'deb/loader.ts' }: Parts,
): Promise<void> {
  const dir = `${output}.parts`;
  await mkdir(dir, { recursive: true });
  await Promise.all([
    writeFile(join(dir, 'source'), source, 'latin1'),
    writeFile(join(dir, 'cache'), cache),
    writeFile(join(dir, 'sea.json'), JSON.stringify(configuration)),
    build({ entryPoints: [loader], outfile: join(dir, 'loader.cjs'), bundle: true, platform: 'node', format: 'cjs' }),
    strip(process.execPath, join(dir, 'node')),
  ]);
  await run(process.execPath, ['--build-sea', 'sea.json'], { cwd: dir, env: {} });
  await run('mv', [join(dir, 'deployd'), output]);
  await rm(dir, { recursive: true });
}

/**
 * What the runtime is started with. Its own root certificates, of which the agent uses none, would be parsed in every tick;
 * and it would let 48 MiB of young objects gather before it looks for those that are dead.
 */
export const runtimeOptions = ['--disable-sigusr1', '--use-openssl-ca', '--max-semi-space-size=2'];

/** Paths relative to the directory, for they end up in the executable. */
const configuration = {
  main: 'loader.cjs',
  executable: 'node',
  output: 'deployd',
  disableExperimentalSEAWarning: true,
  useCodeCache: false,
  execArgv: runtimeOptions,
  execArgvExtension: 'none',
  assets: { source: 'source', cache: 'cache' },
};

/** Must come before the injection: stripped after it, the program does not start. */
async function strip(from: string, to: string): Promise<void> {
  await run('strip', ['--strip-unneeded', '--remove-section=.comment', '-o', to, from]);
}
