import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';

/** Replaces the loader in a test; prints whether the runtime accepts the code cache. */
const asset = (name: string) => Buffer.from(getRawAsset(name));
const script = new Script(asset('source').toString('latin1'), { filename: 'deployd.cjs', cachedData: asset('cache') });
console.log(script.cachedDataRejected ? 'rejected' : 'accepted');
