import { createHash } from 'node:crypto';
import { openCache } from './warm.ts';

const digest = (text: string) => createHash('sha256').update(process.version).update(text).digest();

it('opens the cache of this source', () => {
  const cache = Buffer.concat([digest('source'), Buffer.from('compiled')]);
  expect(openCache(cache, 'source').toString()).toBe('compiled');
});

it.each([
  ['another source', digest('another')],
  ['nothing known', Buffer.alloc(0)],
])('refuses the cache of %s', (_of, head) => {
  expect(() => openCache(Buffer.concat([head, Buffer.from('compiled')]), 'source')).toThrow('leave --cache out');
});
