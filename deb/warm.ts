import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startStandIn } from './standin.ts';

/**
 * The warm code cache: what V8 compiled in a converged tick, the most frequent of all. It differs from run to run, so it is an
 * input of the build like the source: a file that begins with the digest of what it was made from.
 */
export async function makeCache(source: string): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'deployd-warm-'));
  const standIn = await startStandIn();
  try {
    const [sourceFile, cacheFile] = [join(dir, 'source'), join(dir, 'cache')];
    await writeFile(sourceFile, source, 'latin1');
    const recorder = join(import.meta.dirname, 'recorder.ts');
    const tick = [recorder, sourceFile, cacheFile, 'run', '--once', '--config', standIn.configFile];
    await promisify(execFile)(process.execPath, tick, { env: {} });
    const { stderr } = await promisify(execFile)(process.execPath, tick, { env: {} });
    if (!stderr.includes('healthy; heartbeat reported')) throw new Error(`the tick did not converge:\n${stderr}`);
    return Buffer.concat([originOf(source), await readFile(cacheFile)]);
  } finally {
    await standIn.stop();
    await rm(dir, { recursive: true });
  }
}

/** The cache without its head; an error when it was made from another source or by another Node. */
export function openCache(cache: Buffer, source: string): Buffer {
  const origin = originOf(source);
  if (cache.subarray(0, origin.length).equals(origin)) return cache.subarray(origin.length);
  throw new Error(
    'the code cache was made from another source or by another Node: leave --cache out to make a new one',
  );
}

function originOf(source: string): Buffer {
  return createHash('sha256').update(process.version).update(source).digest();
}
