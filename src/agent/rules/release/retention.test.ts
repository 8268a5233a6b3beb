import { expendable, shows } from './retention.ts';

const nothing = { mounted: new Set<string>(), used: new Set<string>(), usedIds: new Set<string>() };
/** Each reference as an image of its own. */
const present = (...references: string[]) =>
  references.map((name, number) => ({ id: `sha256:${number}`, references: [name] }));
const releases = [
  { sha: 'd', images: ['app:4', 'db:1'], servable: true },
  { sha: 'c', images: ['app:3', 'db:1'], servable: true },
  { sha: 'b', images: ['app:2', 'db:1'], servable: true },
  { sha: 'a', images: ['app:1', 'cache:1'], servable: true },
];

const all = present(...new Set(releases.flatMap(({ images }) => images)));

describe('what may go after a success (spec §12.7)', () => {
  it('keeps the newest and lets go images that only older releases named', () => {
    expect(expendable({ ...nothing, releases, present: all, current: 'd', keep: 2 })).toEqual({
      shas: ['b', 'a'],
      held: [],
      images: ['app:2', 'app:1', 'cache:1'],
    });
  });

  it('counts the release in force first, however old it is', () => {
    expect(expendable({ ...nothing, releases, present: all, current: 'a', keep: 1 }).shas).toEqual(['d', 'c', 'b']);
  });

  it('keeps what can be brought up again before newer ones that failed', () => {
    const withFailed = [{ sha: 'e', images: [], servable: false }, ...releases];
    expect(expendable({ ...nothing, releases: withFailed, present: all, current: 'd', keep: 2 }).shas).toEqual([
      'b',
      'a',
      'e',
    ]);
  });

  it('knows an image by its id as well, and keeps it while a kept release or a container knows it by its name', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string, string];
    const here = [
      { id: a, references: ['app:secret'] },
      { id: b, references: ['app:4'] },
      { id: c, references: [] },
    ];
    const failed = { sha: 'e', images: [a, b, c], servable: false };
    const kept = { sha: 'd', images: ['app:4'], servable: true };
    const held = { ...nothing, usedIds: new Set([c]), releases: [failed, kept], present: here };
    expect(expendable({ ...held, current: 'd', keep: 1 }).images).toEqual([a]);
  });

  it('takes nothing that a container mounts, and no image that one uses; a mount keeps no image', () => {
    const use = { ...nothing, mounted: new Set(['b']), used: new Set(['cache:1']) };
    const { shas, held, images } = expendable({ ...use, releases, present: all, current: 'd', keep: 1 });
    expect(shas).toEqual(['c', 'a']);
    expect(held).toEqual(['b']);
    expect(images).toEqual(['app:3', 'app:2', 'app:1']);
  });

  it('leaves every name of an image that a container uses by its id, and names that stand for nothing', () => {
    const twice = [{ id: 'sha256:x', references: ['app:1', 'other:1'] }, ...present('app:2')];
    const used = new Set(['sha256:x']);
    const { images } = expendable({ ...nothing, used, releases, present: twice, current: 'd', keep: 1 });
    expect(images).toEqual(['app:2']);
  });

  it.each([
    ['docker.io/library/app:1', 'app:1'],
    ['app', 'app:latest'],
    ['index.docker.io/user/app:1', 'user/app:1'],
    [`app:1@sha256:${'a'.repeat(64)}`, `app@sha256:${'a'.repeat(64)}`],
  ])('knows that %s is %s, whichever is needed still', (one, other) => {
    for (const [old, kept] of [[one, other] as const, [other, one] as const]) {
      const both = [
        { sha: 'b', images: [kept], servable: true },
        { sha: 'a', images: [old], servable: true },
      ];
      const here = { releases: both, present: present(old) };
      expect(expendable({ ...nothing, ...here, current: 'b', keep: 1 }).images).toEqual([]);
      const used = new Set([kept]);
      expect(expendable({ ...nothing, ...here, used, current: null, keep: 0 }).images).toEqual([]);
    }
  });

  it('lets go an image once, however many names it has, by the first as it is written', () => {
    const written = [
      { sha: 'b', images: ['docker.io/app:1', 'app:1'], servable: true },
      { sha: 'a', images: ['library/app:1'], servable: true },
    ];
    const here = { releases: written, present: present('app:1') };
    expect(expendable({ ...nothing, ...here, current: null, keep: 0 }).images).toEqual(['docker.io/app:1']);
  });
});

describe('a mount', () => {
  it.each([
    ['/r/a', '/r/a', true],
    ['/r/a/conf/x', '/r/a', true],
    ['/r/', '/r/a', true],
    ['/', '/r/a', true],
    ['/r/ab', '/r/a', false],
    ['/r/b', '/r/a', false],
  ])('of %j shows something of %j: %s', (source, directory, does) => expect(shows(source, directory)).toBe(does));
});
