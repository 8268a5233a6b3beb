import { resourcesWithout, hasNoResources, commonResources, noResources } from './projectResources.ts';
import { pendingSince, purgeDeadline, formatPendingPurge, pendingPurgeOf, purgeMessages } from './pendingPurge.ts';

const left = { volumes: ['data', 'logs'], networks: ['default'] };

it('names the containers that use the remaining volumes and networks', () => {
  const backup = { name: 'backup', volumes: ['data'], networks: [] };
  const proxy = { name: 'proxy', volumes: [], networks: ['default', 'data'] };
  expect(formatPendingPurge(left, [backup, { ...backup, name: 'reader' }, proxy])).toBe(
    'down: in use outside the project, so not removed yet: ' +
      'volume data (used by backup, reader), volume logs, network default (used by proxy); tried again for 24 h',
  );
});

it('is given up after a day', () => {
  expect(purgeDeadline({ ...left, since: '2026-11-21T12:00:00.000Z' })).toEqual(new Date('2026-11-22T12:00:00.000Z'));
  expect(purgeMessages.givenUp(left)).toBe(
    'down: not removed within 24 h, so left to be removed by hand: volume data, volume logs, network default',
  );
});

it.each([
  ['a part of it', { ...left, networks: [] }, '2026-11-21T12:00:00.000Z'],
  ['none of it', { volumes: ['default'], networks: ['other'] }, '2026-11-22T08:00:00.000Z'],
])('starts the day at the first down that left a resource, when %s was pending before', (_, before, since) => {
  const now = new Date('2026-11-22T08:00:00.000Z');
  expect(pendingPurgeOf(left, { ...before, since: '2026-11-21T12:00:00.000Z' }, now)).toEqual({ ...left, since });
});

it('ends with the names of what was removed, or what is not removed any more', () => {
  expect(purgeMessages.removed({ volumes: ['data'], networks: [] })).toBe('down: removed at last: volume data');
  expect(purgeMessages.dropped('the env is in service again', { volumes: [], networks: ['default'] })).toBe(
    'down: not removed any more, as the env is in service again: network default',
  );
});

it('is pending only while something remains', () => {
  const now = new Date('2026-11-22T08:00:00.000Z');
  expect(pendingPurgeOf(noResources, { ...left, since: '2026-11-21T12:00:00.000Z' }, now)).toBeNull();
  expect(pendingPurgeOf(left, null, now)).toEqual({ ...left, since: now.toISOString() });
});

it('restarts the day when the clock was set back', () => {
  const now = new Date('2026-11-21T12:00:00.000Z');
  const since = (at: string) => pendingSince({ ...left, since: at }, now);
  expect(since('2036-11-21T12:00:00.000Z')).toBe(now.toISOString());
  expect(since('2026-11-21T08:00:00.000Z')).toBe('2026-11-21T08:00:00.000Z');
});

it('compares volumes with volumes and networks with networks', () => {
  const here = { volumes: ['default', 'logs'], networks: ['data'] };
  expect(commonResources(left, here)).toEqual({ volumes: ['logs'], networks: [] });
  expect(resourcesWithout(left, here)).toEqual({ volumes: ['data'], networks: ['default'] });
  expect([left, { ...left, volumes: [] }, { ...left, networks: [] }].some(hasNoResources)).toBe(false);
  expect([noResources, resourcesWithout(left, left)].every(hasNoResources)).toBe(true);
});
