import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { ownRuntime, type Runtime } from '../architecture.ts';

/** Content of the agent's executable in addition to the runtime. */
export interface ExecutableInputs {
  source: string;
  /** Without its fingerprint. */
  cache: Buffer;
  /** The script that the runtime starts; by default the package's loader. */
  loader?: string;
  /** By default the one that runs this. */
  runtime?: Runtime;
}

const run = promisify(execFile);

/** Builds one program from Node and the agent. The build is reproducible: the same inputs give the same bytes. */
export async function buildExecutable(
  output: string,
  { source, cache, loader = 'deb/program/loader.ts', runtime = ownRuntime }: ExecutableInputs,
): Promise<void> {
  const config = { ...seaConfig, assets: { source: 'source', cache: 'cache' } };
  await assemble(output, { runtime, config }, (dir) => [
    writeFile(join(dir, 'source'), source, 'latin1'),
    writeFile(join(dir, 'cache'), cache),
    build({ entryPoints: [loader], outfile: join(dir, 'loader.cjs'), bundle: true, platform: 'node', format: 'cjs' }),
  ]);
}

/** Builds one program from Node and the source of a program that may take its time to start, without a code cache. */
export async function buildPlainExecutable(output: string, source: string, runtime = ownRuntime): Promise<void> {
  const main = `${source}(exports, require, module, __filename, __dirname);\n`;
  await assemble(output, { runtime, config: { ...seaConfig, execArgv: plainOptions } }, (dir) => [
    writeFile(join(dir, 'loader.cjs'), main, 'latin1'),
  ]);
}

/**
 * Writes the parts and joins them, which the runtime that runs this does for any architecture; paths are relative to
 * their directory, because they end up in the executable.
 */
async function assemble(
  output: string,
  { runtime, config }: { runtime: Runtime; config: object },
  write: (dir: string) => Promise<unknown>[],
): Promise<void> {
  const dir = `${output}.parts`;
  await mkdir(dir, { recursive: true });
  await Promise.all([
    ...write(dir),
    writeFile(join(dir, 'sea.json'), JSON.stringify(config)),
    strip(runtime, join(dir, 'node')),
  ]);
  await run(process.execPath, ['--build-sea', 'sea.json'], { cwd: dir, env: {} });
  await run('mv', [join(dir, 'deployd'), output]);
  await rm(dir, { recursive: true });
}

/**
 * Options of the agent's runtime. Node would parse its built-in root certificates in every tick, although the agent
 * uses none of them, and would let the young generation grow to 48 MiB before a collection.
 */
export const runtimeOptions = ['--disable-sigusr1', '--use-openssl-ca', '--max-semi-space-size=2'];

/** A signal must not open a debugger. */
const plainOptions = ['--disable-sigusr1'];

const seaConfig = {
  main: 'loader.cjs',
  executable: 'node',
  output: 'deployd',
  disableExperimentalSEAWarning: true,
  useCodeCache: false,
  execArgv: runtimeOptions,
  execArgvExtension: 'none',
};

/** Must run before the injection: a program that is stripped afterwards does not start. */
async function strip({ strip: program, node }: Runtime, to: string): Promise<void> {
  await run(program, ['--strip-unneeded', '--remove-section=.comment', '-o', to, node]);
}
