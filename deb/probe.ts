import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';

/** In the place of the loader it tells whether the runtime takes the code cache. */
const asset = (name: string) => Buffer.from(getRawAsset(name));
const script = new Script(asset('source').toString('latin1'), { filename: 'deployd.cjs', cachedData: asset('cache') });
console.log(script.cachedDataRejected ? 'rejected' : 'accepted');
