import type { Readable } from 'node:stream';

/** A whole body as JSON, undefined when it is none; one of more than `maxBytes` throws an error of code TOO_LARGE. */
export async function readJson(body: Readable, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw Object.assign(new Error('answer too large'), { code: 'TOO_LARGE' });
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))) as unknown;
  } catch {
    return undefined;
  }
}
