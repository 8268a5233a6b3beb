import { formatProgress, type Progress } from './progress.ts';

it.each<[string, number, Progress | null, string]>([
  ['unpacking', 0.4, null, 'unpacking'],
  ['pulling', 1, null, 'pulling: 1 s'],
  ['pulling', 3.9, null, 'pulling: 3 s'],
  ['pulling', 12, { done: 1, total: 3, unit: 'images' }, 'pulling: 1 of 3 images, 12 s'],
  [
    'downloading',
    2,
    { done: 1.5 * 2 ** 20, total: 3 * 2 ** 20, unit: 'bytes' },
    'downloading: 1.5 of 3.0 MiB (50 %), 2 s',
  ],
  ['downloading', 0, { done: 512, total: 1024, unit: 'bytes' }, 'downloading: 0.5 of 1.0 KiB (50 %)'],
  ['downloading', 0, { done: 2 ** 19, total: 2 ** 20 - 1, unit: 'bytes' }, 'downloading: 512.0 of 1024.0 KiB (50 %)'],
  ['downloading', 0, { done: 2 ** 19, total: 2 ** 20, unit: 'bytes' }, 'downloading: 0.5 of 1.0 MiB (50 %)'],
  ['downloading', 0, { done: 0, total: 0, unit: 'bytes' }, 'downloading: 0.0 of 0.0 KiB (100 %)'],
])('%s after %d s', (state, seconds, progress, text) => {
  expect(formatProgress(state, seconds, progress)).toBe(text);
});
