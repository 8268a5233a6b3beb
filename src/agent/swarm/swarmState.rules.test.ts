import { emptySwarmState, parseSwarmState, type SwarmState } from './swarmState.rules.ts';

const sha = 'a'.repeat(64);
const at = '2026-11-27T01:00:00.000Z';
const empty = emptySwarmState('eu-1');
const facts = {
  ...empty.facts,
  ...{ applied_sha: sha, applied_at: at, applied_version: '1', highest_sequence: 7, production: true },
  ...{
    attempt: { sha, phase: 'starting', at },
    failing: { sha, count: 1, retry_at: at, line: 'failed: UNHEALTHY: web' },
  },
};
const record: SwarmState['record'] = {
  ...{ schema: 1, sha, version: '1', sequence: 7, production: true },
  ...{ services: [{ name: 'web', replicas: 2 }], images: [], compose: ['compose.yaml'] },
};
const full: SwarmState = { facts, node: 'abc', record };

it.each([empty, full])('reads the written state: %j', (state) => {
  expect(parseSwarmState(JSON.stringify(state), 'eu-1')).toEqual(state);
});

it.each([
  '',
  '[]',
  '{}',
  'null',
  JSON.stringify({ ...full, facts: undefined }),
  JSON.stringify({ ...full, node: undefined }),
  JSON.stringify({ ...full, record: undefined }),
  JSON.stringify({ ...full, record: {} }),
  JSON.stringify({ ...full, facts: { ...facts, highest_sequence: -1 } }),
  JSON.stringify({ ...full, facts: { ...facts, applied_sha: 'x' } }),
  JSON.stringify({ ...full, facts: { ...facts, attempt: { sha, phase: 'starting', at: 'never' } } }),
])('rejects an invalid state: %s', (text) => {
  expect(parseSwarmState(text, 'eu-1')).toBeNull();
});
