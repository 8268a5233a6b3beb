import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { restHelpers } from './firstSecond.ts';

/** What the executable starts with: the agent and its code cache are assets. A cache that does not fit only costs time. */
const asset = (name: string) => Buffer.from(getRawAsset(name));
const script = new Script(asset('source').toString('latin1'), { filename: 'deployd.cjs', cachedData: asset('cache') });
restHelpers();
const main = script.runInThisContext() as (...scope: unknown[]) => void;
main(exports, require, module, __filename, __dirname);
