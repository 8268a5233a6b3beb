import type { Manifest, Sha } from '../../../machines/types.ts';
import {
  type DeclaredVolume,
  type ExistingVolume,
  validateDiskSpace,
  validateRollback,
  validateSwarmLogins,
  validateVolumes,
} from './hostState.rules.ts';

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
      'needs 7.5 GiB on /var/lib/docker, /srv (1.5 × 3.7 GiB declared + 2.0 GiB headroom), 4.1 GiB free; the free space is unknown on /var/lib/containerd',
    );
    expect(refusalOf(null, gib, 0)?.detail).toBe('needs 1.0 GiB on /d0 (headroom alone), 0.0 MiB free');
    expect(refusalOf(null, gib)?.detail).toBe('no filesystem could be checked');
  });
});

const declared = { key: 'data', name: null, driver: null, driver_opts: {} };
const found = { name: 'deployd-eu-1_data', driver: 'local', options: {} };

describe('a volume that would have to be recreated (spec §12.2)', () => {
  const nfs = { type: 'nfs', device: ':/a' };

  it.each<[string, Partial<DeclaredVolume>, Partial<ExistingVolume>[]]>([
    ['does not exist', { driver: 'x' }, []],
    ['has another name', { driver: 'x', name: 'data' }, [{}]],
    ['is equal', {}, [{}]],
    ['has the driver and the options that the bundle names', { driver: 'local', driver_opts: nfs }, [{ options: nfs }]],
    ['has a variable as its driver', { driver: '$DRIVER' }, [{}]],
    ['has a variable in its options', { driver: 'x', driver_opts: { device: ':/${DIR}' } }, [{}]],
  ])('is missing when the volume %s', (_, bundle, engine) => {
    const existing = engine.map((volume) => ({ ...found, ...volume }));
    expect(validateVolumes([{ ...declared, ...bundle }], existing, 'deployd-eu-1')).toBeNull();
  });

  it.each<[string, Partial<DeclaredVolume>, Partial<ExistingVolume>, string]>([
    ['its driver', { driver: 'x' }, {}, 'driver is local, the bundle says x'],
    ['its driver, by default local', {}, { driver: 'x' }, 'driver is x, the bundle says local'],
    [
      'its driver, under its own name',
      { name: 'own', driver: 'x' },
      { name: 'own' },
      'driver is local, the bundle says x',
    ],
    ['one option more', { driver_opts: nfs }, { options: { type: 'nfs' } }, 'driver options differ'],
    ['one option less', { driver_opts: { type: 'nfs' } }, { options: nfs }, 'driver options differ'],
    ['another value', { driver_opts: nfs }, { options: { ...nfs, device: ':/b' } }, 'driver options differ'],
  ])('diverges by %s', (_, bundle, engine, problem) => {
    const refusal = validateVolumes([{ ...declared, ...bundle }], [{ ...found, ...engine }], 'deployd-eu-1');
    expect(refusal).toEqual({
      code: 'VOLUME_DIVERGED',
      detail: `volume data: ${problem}`,
      faults: [{ text: `volume data: ${problem}`, cure: 'rename the volume, or remove it by hand' }],
    });
  });

  it('is reported with all others', () => {
    const logs = { ...declared, key: 'logs', driver: 'y' };
    const engine = [found, { ...found, name: 'deployd-eu-1_logs' }];
    expect(validateVolumes([{ ...declared, driver: 'x' }, logs], engine, 'deployd-eu-1')?.detail).toBe(
      'volume data: driver is local, the bundle says x; volume logs: driver is local, the bundle says y',
    );
  });
});

it.each([
  [[], []],
  [['r.example', 'q.example/team'], []],
  [
    ['r.example/a', 'q.example', 'r.example/b'],
    ['registries[2].host is refused in a swarm: it has one login for each registry'],
  ],
])('refuses a second login for a registry in a swarm: %j', (hosts, faults) => {
  const registries = hosts.map((host) => ({ host, username_var: 'U', password_var: 'P' }));
  expect((validateSwarmLogins({ registries })?.faults ?? []).map(({ text }) => text)).toEqual(faults);
});

const [own, other] = ['a'.repeat(64), 'b'.repeat(64)] as [Sha, Sha];

function bundleOf({ sequence, allow_rollback = false }: { sequence: number; allow_rollback?: boolean }) {
  const agent = { allow_privileged: true, allow_rollback };
  return { sha: own, manifest: { sequence, version: '7', agent } as unknown as Manifest };
}

describe('a rollback', () => {
  it.each([
    [42, null, false, null],
    [1, null, false, null],
    [43, 42, false, null],
    [41, 42, false, 'sequence 41 (version 7) is lower than 42, the highest applied here'],
    [41, 42, true, null],
    [42, 42, false, `sequence 42 (version 7) is the sequence of another bundle that was applied here, ${other}`],
    [42, 42, true, null],
  ])('sequence %s after %s with allow_rollback %s is refused: %s', (sequence, highest, allow_rollback, detail) => {
    const newest = highest === null ? null : { sequence: highest, sha: other };
    expect(validateRollback(bundleOf({ sequence, allow_rollback }), newest)?.detail ?? null).toBe(detail);
  });

  it.each([
    ['the bundle itself', own, own],
    ['a bundle that an older agent did not record', own, null],
    ['a directory, which has no digest', null, other],
  ])('an equal sequence is accepted after %s', (_of, sha, recorded) => {
    expect(validateRollback({ ...bundleOf({ sequence: 42 }), sha }, { sequence: 42, sha: recorded })).toBeNull();
  });

  it.each([
    [[], 'raise the sequence, or set agent.allow_rollback in manifest.json', false],
    [['rollback'], 'raise the sequence, as policy.deny: rollback of this host outlives the flags of the bundle', true],
    [['purge'], 'raise the sequence, or set agent.allow_rollback in manifest.json', false],
  ] as const)('has a cure where a host denies %j', (deny, cure, isDenied) => {
    const newest = { sequence: 42, sha: other };
    const refusal = validateRollback(bundleOf({ sequence: 41 }), newest, deny);
    expect(refusal?.faults?.map((fault) => fault.cure)).toEqual([cure]);
    const flagged = bundleOf({ sequence: 41, allow_rollback: true });
    expect(validateRollback(flagged, newest, deny) !== null).toBe(isDenied);
  });
});
