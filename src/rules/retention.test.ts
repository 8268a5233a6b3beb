import { expendable } from './retention.ts';

const nothing = { mounted: new Set<string>(), used: new Set<string>() };
const releases = [
  { sha: 'd', images: ['app:4', 'db:1'], servable: true },
  { sha: 'c', images: ['app:3', 'db:1'], servable: true },
  { sha: 'b', images: ['app:2', 'db:1'], servable: true },
  { sha: 'a', images: ['app:1', 'cache:1'], servable: true },
];

describe('what may go after a success (spec §12.7)', () => {
  it('keeps the newest and lets go images that only older releases named', () => {
    expect(expendable({ ...nothing, releases, current: 'd', keep: 2 })).toEqual({
      shas: ['b', 'a'],
      images: ['app:2', 'app:1', 'cache:1'],
    });
  });

  it('counts the release in force first, however old it is', () => {
    expect(expendable({ ...nothing, releases, current: 'a', keep: 1 }).shas).toEqual(['d', 'c', 'b']);
  });

  it('keeps what can be brought up again before newer ones that failed', () => {
    const withFailed = [{ sha: 'e', images: [], servable: false }, ...releases];
    expect(expendable({ ...nothing, releases: withFailed, current: 'd', keep: 2 }).shas).toEqual(['b', 'a', 'e']);
  });

  it('never takes what a container mounts or uses', () => {
    const { shas, images } = expendable({
      releases,
      current: 'd',
      keep: 1,
      mounted: new Set(['b']),
      used: new Set(['cache:1']),
    });
    expect(shas).toEqual(['c', 'a']);
    expect(images).toEqual(['app:3', 'app:1']);
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
      expect(expendable({ ...nothing, releases: both, current: 'b', keep: 1 }).images).toEqual([]);
      const used = new Set([kept]);
      expect(expendable({ mounted: nothing.mounted, used, releases: both, current: null, keep: 0 }).images).toEqual([]);
    }
  });

  it('lets go an image once, however many names it has, by the first as it is written', () => {
    const written = [
      { sha: 'b', images: ['docker.io/app:1', 'app:1'], servable: true },
      { sha: 'a', images: ['library/app:1'], servable: true },
    ];
    expect(expendable({ ...nothing, releases: written, current: null, keep: 0 }).images).toEqual(['docker.io/app:1']);
  });
});
