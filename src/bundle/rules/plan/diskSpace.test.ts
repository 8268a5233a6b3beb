import { validateDiskSpace } from './diskSpace.ts';

const gib = 2 ** 30;

function refusalOf(needBytes: number | null, headroomBytes: number, ...free: (number | null)[]) {
  const filesystems = free.map((freeBytes, index) => ({ device: index, paths: [`/d${index}`], freeBytes }));
  return validateDiskSpace({ needBytes, headroomBytes, filesystems });
}

describe('disk space for a pull', () => {
  it.each([
    [null, 2 * gib, [2 * gib], true],
    [null, 2 * gib, [2 * gib - 1], false],
    [0, 2 * gib, [2 * gib], true],
    [4 * gib, 2 * gib, [8 * gib], true],
    [4 * gib, 2 * gib, [8 * gib - 1], false],
    [1, 0, [2], true],
    [1, 0, [1], false],
    [null, 0, [0], true],
    [4 * gib, gib, [7 * gib, 7 * gib], true],
    [4 * gib, gib, [7 * gib, 6 * gib], false],
    [4 * gib, gib, [7 * gib, null], false],
    [null, 0, [null], false],
    [null, 0, [], false],
  ])('need %s and headroom %s with %j free suffices: %s', (...row) => {
    const [need, headroom, free, suffices] = row;
    expect(refusalOf(need, headroom, ...free)?.code).toBe(suffices ? undefined : 'DISK_INSUFFICIENT');
  });

  it('reports the needed space, the path, the reason and the free space', () => {
    const filesystems = [
      { device: 1, paths: ['/var/lib/docker', '/srv'], freeBytes: 4.19 * gib },
      { device: 2, paths: ['/var/lib/containerd'], freeBytes: null },
      { device: 3, paths: ['/big'], freeBytes: 100 * gib },
    ];
    expect(validateDiskSpace({ needBytes: 3.66 * gib, headroomBytes: 2 * gib, filesystems })?.detail).toBe(
      'needs 7.5 GiB on /var/lib/docker, /srv (1.5 × 3.7 GiB declared + 2.0 GiB headroom), 4.1 GiB free; cannot tell how much is free on /var/lib/containerd',
    );
    expect(refusalOf(null, gib, 0)?.detail).toBe('needs 1.0 GiB on /d0 (headroom alone), 0.0 GiB free');
    expect(refusalOf(null, gib)?.detail).toBe('no filesystem could be checked');
  });
});
