import type { ExistingVolumes, RecordedVolume } from '../engine/resources.rules.ts';
import type { RecordedContainer } from './record.rules.ts';
import {
  describeLoss,
  detachedVolumes,
  exposesDirectory,
  formatIgnoredPurge,
  lostVolumes,
  mayRemoveVolumes,
  productionOf,
  volumesInDoubt,
  withoutVolumes,
} from './volumes.rules.ts';

const anonymous = 'a'.repeat(64);
const db: RecordedContainer = {
  ...{ id: 'c1', service: 'db', image: 'sha256:1', networks: [], number: '1' },
  volumes: [
    { name: 'p_data', target: '/data' },
    { name: anonymous, target: '/cache' },
  ],
};
const data: RecordedVolume = { name: 'p_data', created_at: '2026-11-20T10:00:00Z', born_at: null };
const cache: RecordedVolume = { name: anonymous, created_at: null, born_at: null };
const record = { containers: [db], volumes: [data, cache] };
const expected = [{ name: 'db' }];
const present = (id: string, ...names: string[]) => {
  return { id, created: { volumes: names.map((name) => ({ name, target: '/data' })) } };
};

describe('a volume is in doubt', () => {
  it.each<[string, ReturnType<typeof present>[], { name: string }[], string[]]>([
    [
      'never while a recorded container mounts it, also a stopped one',
      [present('c1', 'p_data', anonymous)],
      expected,
      [],
    ],
    ['when no container is left', [], expected, ['p_data', anonymous]],
    [
      'when only another container mounts it, which may have another one of that name',
      [present('c2', 'p_data', anonymous)],
      expected,
      ['p_data'],
    ],
    ['unless it is anonymous, of a service that needs no container', [], [], ['p_data']],
  ])('%s', (_case, containers, services, names) => {
    expect(volumesInDoubt(record, containers, services).map(({ name }) => name)).toEqual(names);
  });

  it('never without a record', () => {
    expect(volumesInDoubt({}, [], expected)).toEqual([]);
  });
});

describe('a volume in doubt', () => {
  const engine: ExistingVolumes = { volumes: [data], isComplete: true, hasStableTimes: true };
  const later = '2026-11-28T10:00:00Z';
  it.each<[string, Partial<ExistingVolumes>, RecordedVolume, 'lost' | 'recreated' | null]>([
    ['is the recorded one', {}, data, null],
    ['is lost when the engine does not list it', { volumes: [] }, data, 'lost'],
    ['is not lost when a driver did not answer', { volumes: [], isComplete: false }, data, null],
    ['was created again when its time differs', { volumes: [{ ...data, created_at: later }] }, data, 'recreated'],
    [
      'is the same in another time zone',
      { volumes: [{ ...data, created_at: '2026-11-20T11:00:00+01:00' }] },
      data,
      null,
    ],
    [
      'is the same when the engine changes times with the content',
      { volumes: [{ ...data, created_at: later }], hasStableTimes: false },
      data,
      null,
    ],
    ['is the same when its driver names no time', { volumes: [{ ...data, created_at: null }] }, data, null],
    [
      'was created again when its directory is another, whatever the engine says',
      { volumes: [{ ...data, born_at: later }], hasStableTimes: false },
      { ...data, born_at: data.created_at },
      'recreated',
    ],
    [
      'is the same when its directory is, whatever the engine says',
      { volumes: [{ ...data, created_at: later, born_at: later }] },
      { ...data, born_at: later },
      null,
    ],
  ])('%s', (_case, changed, recorded, how) => {
    const lost = lostVolumes([recorded], record, { ...engine, ...changed });
    expect(lost).toEqual(how === null ? [] : [{ name: 'p_data', how, services: ['db'] }]);
  });

  it('is described by its name, an anonymous one by the beginning of its name', () => {
    expect(describeLoss({ name: 'p_data', how: 'lost', services: [] })).toBe('volume p_data is gone');
    expect(describeLoss({ name: 'p_data', how: 'recreated', services: [] })).toBe(
      'volume p_data was removed and created again',
    );
    expect(describeLoss({ name: anonymous, how: 'lost', services: [] })).toBe('anonymous volume aaaaaaaaaaaa is gone');
  });
});

it('finds the anonymous volumes of removed containers that nobody mounts', () => {
  const found = { ...db, volumes: [{ name: anonymous, target: '/cache' }] };
  expect(detachedVolumes(record, [], [data, cache])).toEqual([found]);
  expect(detachedVolumes(record, [], [data])).toEqual([]);
  expect(detachedVolumes(record, [present('c2', anonymous)], [cache])).toEqual([]);
  expect(detachedVolumes(record, [present('c1')], [cache])).toEqual([]);
});

it('discards volumes that an operator gave up', () => {
  const forgotten = withoutVolumes(record, ['p_data']);
  expect(forgotten).toEqual({
    containers: [{ ...db, volumes: [{ name: anonymous, target: '/cache' }] }],
    volumes: [cache],
  });
  expect(withoutVolumes({}, ['p_data'])).toEqual({});
});

const rows = [
  // production, purge requested, on absent → removed, ignored
  [false, false, 'keep', false, false],
  [false, false, 'purge', true, false],
  [false, true, 'keep', true, false],
  [false, true, 'purge', true, false],
  [true, false, 'keep', false, false],
  [true, false, 'purge', false, true],
  [true, true, 'keep', false, true],
  [true, true, 'purge', false, true],
  [null, false, 'keep', false, false],
  [null, false, 'purge', false, true],
  [null, true, 'keep', false, true],
  [null, true, 'purge', false, true],
] as const;

describe('the volume rule (spec §7.1)', () => {
  it.each(rows)('production %s, purge requested %s, on absent %s: removed %s, ignored %s', (...row) => {
    const [production, purgeRequested, onAbsent, removed, ignored] = row;
    const facts = { production, purgeRequested, onAbsent, denied: false };
    expect(mayRemoveVolumes(facts)).toBe(removed);
    expect(formatIgnoredPurge(facts, ['data']) !== null).toBe(ignored);
  });

  it('logs an ignored purge of an unknown env only when it has volumes, with their names', () => {
    const facts = { production: null, purgeRequested: true, onAbsent: 'keep', denied: false } as const;
    expect(formatIgnoredPurge(facts, [])).toBeNull();
    expect(formatIgnoredPurge(facts, ['deployd-eu-1_data', 'deployd-eu-1_logs'])).toBe(
      'purge of volumes ignored: nothing on this host shows whether this is a production environment; kept, remove them by hand if it is not: deployd-eu-1_data, deployd-eu-1_logs',
    );
  });

  it('logs an ignored purge of a production env, volumes or not', () => {
    expect(formatIgnoredPurge({ production: true, purgeRequested: true, onAbsent: 'keep', denied: false }, [])).toBe(
      'purge of volumes ignored: this is a production environment; volumes stay',
    );
  });

  it.each([
    [[], null],
    [[false], false],
    [[false, false], false],
    [[false, null], null],
    [[null], null],
    [[false, null, true], true],
    [[true], true],
  ])('releases with the statuses %j make production %s', (statuses, expected) =>
    expect(productionOf(statuses)).toBe(expected),
  );
});

it('a host that denies purges keeps its volumes, and says so', () => {
  const facts = { production: false, purgeRequested: true, onAbsent: 'purge', denied: true } as const;
  expect(mayRemoveVolumes(facts)).toBe(false);
  const line = 'purge of volumes ignored: policy.deny of this host names purge; volumes stay';
  expect(formatIgnoredPurge(facts, [])).toBe(line);
  expect(formatIgnoredPurge({ ...facts, purgeRequested: false, onAbsent: 'keep' }, [])).toBeNull();
});

describe('a mount', () => {
  it.each([
    ['/r/a', '/r/a', true],
    ['/r/a/conf/x', '/r/a', true],
    ['/r/', '/r/a', true],
    ['/', '/r/a', true],
    ['/r/ab', '/r/a', false],
    ['/r/b', '/r/a', false],
  ])('of %j exposes %j: %s', (source, directory, does) => expect(exposesDirectory(source, directory)).toBe(does));
});
