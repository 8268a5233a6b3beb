import { anonymousVolumesIn, rememberVolumes, unusedVolumes } from './volumes.rules.ts';

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(64)) as [string, string, string];
const volume = (name: string) => ({ name, service: 'db', target: '/data' });
const record = (...names: string[]) => ({
  containers: [
    {
      ...{ id: '1', service: 'db', image: 'i', networks: [], number: '1' },
      volumes: names.map((name) => ({ name, target: '/data' })),
    },
  ],
});

it('finds the anonymous volumes of records, each once', () => {
  expect(anonymousVolumesIn([record(a, 'shop_data'), record(a, b), {}])).toEqual([volume(a), volume(b)]);
});

it('keeps the names of volumes of a removed release that still exist on the engine', () => {
  expect(rememberVolumes([volume(a), volume(b)], record(b, c), new Set([b, c]))).toEqual([volume(b), volume(c)]);
});

it('lists the volumes that no container mounts, the largest first', () => {
  const volumes = [
    { name: a, size: 1, isMounted: false },
    { name: b, size: 2, isMounted: true },
    { name: c, size: 3, isMounted: false },
    { name: 'd'.repeat(64), size: 4, isMounted: false },
  ];
  expect(unusedVolumes([volume(a), volume(b), volume(c), volume(a)], volumes)).toEqual([
    { ...volume(c), size: 3 },
    { ...volume(a), size: 1 },
  ]);
});
