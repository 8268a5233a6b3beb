import { conditionOf, containerTone, outcomeTone, shortSha } from './backends.rules.ts';

const active = { state: 'active', healthy: true, trouble: null, applied_sha: 'a', desired_sha: 'a' } as const;
type Facts = Parameters<typeof conditionOf>[0];

it.each<[string, string, Partial<Facts>]>([
  ['active', 'good', {}],
  ['active', 'good', { applied_sha: null, desired_sha: null }],
  ['out of date', 'later', { applied_sha: null }],
  ['out of date', 'later', { desired_sha: 'b' }],
  ['unhealthy', 'bad', { healthy: false, desired_sha: 'b' }],
  ['unhealthy', 'bad', { trouble: 'unhealthy' }],
  ['unknown', 'later', { healthy: null }],
  ['refused', 'bad', { trouble: 'refused', desired_sha: 'b' }],
  ['failed', 'bad', { trouble: 'failed', healthy: false }],
  ['offline', 'bad', { state: 'offline', healthy: false, laptop: false }],
  ['asleep', 'idle', { state: 'offline', healthy: false, laptop: true }],
  ['invited', 'later', { state: 'invited', healthy: null, applied_sha: null }],
  ['retired', 'idle', { state: 'retired' }],
  ['locked', 'bad', { locked_at: '2026-11-30T00:00:00Z', cloned_at: '2026-11-30T00:00:00Z' }],
  ['cloned', 'bad', { cloned_at: '2026-11-30T00:00:00Z', healthy: null }],
  ['retired, may still run', 'bad', { state: 'retired', leftover: 'its host has not reported' }],
])('a backend is %s, which is %s: %j', (word, tone, changes) => {
  expect(conditionOf({ ...active, ...changes })).toMatchObject({ word, tone });
});

it.each([
  ['heartbeat', 'good'],
  ['refused', 'bad'],
  ['down', 'idle'],
  ['of a newer agent', 'idle'],
])('a tick that ended as %s is %s', (outcome, tone) => expect(outcomeTone(outcome)).toBe(tone));

it('a digest is shown by its first characters', () => {
  expect([shortSha('0123456789abcdef'), shortSha(null)]).toEqual(['0123456789ab', '–']);
});

it.each([
  ['running', null, null, 'good'],
  ['running', 'starting', null, 'later'],
  ['running', 'unhealthy', null, 'bad'],
  ['exited', null, 0, 'idle'],
  ['exited', null, 137, 'bad'],
])('a container that is %s, %s, with exit code %s is %s', (state, health, exit_code, tone) => {
  expect(containerTone({ state, health, exit_code }, true)).toBe(tone);
  expect(containerTone({ state, health, exit_code }, false)).toBe('idle');
});
