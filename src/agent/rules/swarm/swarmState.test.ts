import { emptySwarmState, parseSwarmState, type SwarmState } from './swarmState.ts';

const sha = 'a'.repeat(64);
const at = '2026-11-27T01:00:00.000Z';
const full: SwarmState = {
  applied_sha: sha,
  highest_sequence: 7,
  attempt: { sha, phase: 'starting', at, node: 'abc', claim: 3 },
  failing: { sha, count: 1, retry_at: at, line: 'failed: UNHEALTHY: web' },
};

it.each([emptySwarmState, full])('reads what was written: %j', (state) => {
  expect(parseSwarmState(JSON.stringify(state))).toEqual(state);
});

it.each([
  '',
  '[]',
  '{}',
  JSON.stringify({ ...full, highest_sequence: -1 }),
  JSON.stringify({ ...full, applied_sha: 'x' }),
  JSON.stringify({ ...full, attempt: { sha, phase: 'starting', at } }),
  JSON.stringify({ ...full, attempt: { ...full.attempt, at: 'never' } }),
  JSON.stringify({ ...full, failing: { sha } }),
])('is no state: %s', (text) => {
  expect(parseSwarmState(text)).toBeNull();
});
