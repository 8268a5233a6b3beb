import { createHash } from 'node:crypto';
import { openCodeCache } from './codeCache.ts';

const digest = (text: string, architecture = 'amd64') =>
  createHash('sha256').update(process.version).update(architecture).update(text).digest();

it('opens the cache of the same source', () => {
  const cache = Buffer.concat([digest('source'), Buffer.from('compiled')]);
  expect(openCodeCache(cache, 'source').toString()).toBe('compiled');
});

it.each([
  ['another source', digest('another')],
  ['another architecture', digest('source', 'arm64')],
  ['no fingerprint', Buffer.alloc(0)],
])('rejects a cache of %s', (_of, head) => {
  expect(() => openCodeCache(Buffer.concat([head, Buffer.from('compiled')]), 'source')).toThrow('leave --cache out');
});
