import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';

/** `codeCacheRecorder.ts SOURCE CACHE ARGUMENTS…`: runs the agent as the loader does, and writes the code that V8 compiled as the cache. */
const [node = '', self = '', sourceFile = '', cacheFile = '', ...args] = process.argv;
const script = new Script(readFileSync(sourceFile, 'latin1'), { filename: 'deployd.cjs' });
process.argv = [node, self, ...args];
process.once('exit', () => writeFileSync(cacheFile, script.createCachedData()));
const main = script.runInThisContext() as (...scope: unknown[]) => void;
main({}, createRequire(import.meta.url), {}, self, import.meta.dirname);
