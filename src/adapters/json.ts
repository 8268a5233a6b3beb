import type { Readable } from 'node:stream';
import { wipe } from '../secrets/wipe.ts';

/** A whole body as JSON, undefined when it is none; its bytes, which may hold a secret, are wiped. One of more than `maxBytes` throws an error of code TOO_LARGE. */
export async function readJson(body: Readable, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw Object.assign(new Error('answer too large'), { code: 'TOO_LARGE' });
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(whole)) as unknown;
  } catch {
    return undefined;
  } finally {
    wipe(whole, ...chunks);
  }
}
