import { beyond, isNothing, within } from './owned.ts';
import { pendingSince, purgeEnds, purgeLeft, purgeOf, purgeTold } from './purge.ts';

const left = { volumes: ['data', 'logs'], networks: ['default'] };

it('names the containers that use what remains, by volume and by network', () => {
  const backup = { name: 'backup', volumes: ['data'], networks: [] };
  const proxy = { name: 'proxy', volumes: [], networks: ['default', 'data'] };
  expect(purgeLeft(left, [backup, { ...backup, name: 'reader' }, proxy])).toBe(
    'down: in use outside the project, so not removed yet: ' +
      'volume data (used by backup, reader), volume logs, network default (used by proxy); tried again for 24 h',
  );
});

it('gives up after a day', () => {
  expect(purgeEnds({ ...left, since: '2026-11-21T12:00:00.000Z' })).toEqual(new Date('2026-11-22T12:00:00.000Z'));
  expect(purgeTold.givenUp(left)).toMatch(/24 h.*: volume data, volume logs, network default$/);
});

it.each([
  ['what was pending before', { ...left, networks: [] }, '2026-11-21T12:00:00.000Z'],
  ['nothing that was', { volumes: ['default'], networks: ['other'] }, '2026-11-22T08:00:00.000Z'],
])('counts the day from the first down that left it, where before there was %s', (_, before, since) => {
  const now = new Date('2026-11-22T08:00:00.000Z');
  expect(purgeOf(left, { ...before, since: '2026-11-21T12:00:00.000Z' }, now)).toEqual({ ...left, since });
});

it('counts the day anew where the clock was set back', () => {
  const now = new Date('2026-11-21T12:00:00.000Z');
  const since = (at: string) => pendingSince({ ...left, since: at }, now);
  expect(since('2036-11-21T12:00:00.000Z')).toBe(now.toISOString());
  expect(since('2026-11-21T08:00:00.000Z')).toBe('2026-11-21T08:00:00.000Z');
});

it('compares volumes with volumes and networks with networks', () => {
  const here = { volumes: ['default', 'logs'], networks: ['data'] };
  expect(within(left, here)).toEqual({ volumes: ['logs'], networks: [] });
  expect(beyond(left, here)).toEqual({ volumes: ['data'], networks: ['default'] });
  expect([isNothing(left), isNothing(beyond(left, left))]).toEqual([false, true]);
});
