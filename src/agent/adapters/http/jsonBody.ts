import type { Readable } from 'node:stream';
import { collectBytes } from '../../../core/streams.ts';
import { wipe } from '../../secrets/wipe.ts';

/**
 * Parses a body as JSON; undefined when it is not JSON. Its bytes, which may contain a secret, are wiped. Throws an
 * error of code TOO_LARGE for more than `maxBytes`.
 */
export async function readJsonBody(body: Readable, maxBytes: number): Promise<unknown> {
  const bytes = await collectBytes(body, { maxBytes, tooLarge });
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  } finally {
    wipe(bytes);
  }
}

function tooLarge(): Error {
  return Object.assign(new Error('answer too large'), { code: 'TOO_LARGE' });
}
