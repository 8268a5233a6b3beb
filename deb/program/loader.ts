import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { deferHelperThreads } from './startupThreads.ts';

/** Entry point of the executable; the agent and its code cache are assets. A rejected cache only costs time. */
const asset = (name: string) => Buffer.from(getRawAsset(name));
const script = new Script(asset('source').toString('latin1'), { filename: 'deployd.cjs', cachedData: asset('cache') });
deferHelperThreads();
const main = script.runInThisContext() as (...scope: unknown[]) => void;
main(exports, require, module, __filename, __dirname);
