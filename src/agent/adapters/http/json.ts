import type { Readable } from 'node:stream';
import { gather } from '../../../platform/collectBytes.ts';
import { wipe } from '../../secrets/wipe.ts';

/** A whole body as JSON, undefined when it is none; its bytes, which may hold a secret, are wiped. One of more than `maxBytes` throws an error of code TOO_LARGE. */
export async function readJson(body: Readable, maxBytes: number): Promise<unknown> {
  const whole = await gather(body, { maxBytes, tooLarge });
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(whole)) as unknown;
  } catch {
    return undefined;
  } finally {
    wipe(whole);
  }
}

function tooLarge(): Error {
  return Object.assign(new Error('answer too large'), { code: 'TOO_LARGE' });
}
