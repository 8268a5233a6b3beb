import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commandOf, ownRuntime, type Runtime } from '../architecture.ts';
import { startStubHost } from './stubHost.ts';

/**
 * Records the code cache: the functions that V8 compiled in a converged tick, the most frequent kind, on a host that
 * writes metrics. It differs between runs, so it is an input of the build like the source. V8 accepts it on the
 * architecture that it was recorded on, so another than this machine's is emulated. The file begins with a fingerprint
 * of source, runtime and architecture.
 */
export async function createCodeCache(source: string, runtime = ownRuntime): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'deployd-code-cache-'));
  const host = await startStubHost({ metrics: { textfile: join(dir, 'deployd.prom') } });
  try {
    const [sourceFile, cacheFile] = [join(dir, 'source'), join(dir, 'cache')];
    await writeFile(sourceFile, source, 'latin1');
    const recorder = join(import.meta.dirname, 'codeCacheRecorder.ts');
    const [command, ...args] = commandOf(runtime, runtime.node);
    const tick = [...args, recorder, sourceFile, cacheFile, 'run', '--once', '--config', host.configFile];
    await promisify(execFile)(command, tick, { env: {} });
    const { stderr } = await promisify(execFile)(command, tick, { env: {} });
    if (!stderr.includes('healthy; heartbeat reported')) throw new Error(`the tick did not converge:\n${stderr}`);
    return Buffer.concat([fingerprintOf(source, runtime), await readFile(cacheFile)]);
  } finally {
    await host.stop();
    await rm(dir, { recursive: true });
  }
}

/**
 * The cache without its fingerprint; an error if it was made from another source, by another Node or for another
 * architecture.
 */
export function openCodeCache(cache: Buffer, source: string, runtime = ownRuntime): Buffer {
  const fingerprint = fingerprintOf(source, runtime);
  if (cache.subarray(0, fingerprint.length).equals(fingerprint)) return cache.subarray(fingerprint.length);
  throw new Error(
    'the code cache was made from another source, by another Node or for another architecture: leave --cache out to make a new one',
  );
}

function fingerprintOf(source: string, { architecture }: Runtime): Buffer {
  return createHash('sha256').update(process.version).update(architecture).update(source).digest();
}
