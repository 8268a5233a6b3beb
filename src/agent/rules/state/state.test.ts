import { emptyState, isInvalidState, parseState } from './state.ts';

const sha = 'a'.repeat(64);
const at = '2026-11-21T12:00:00.000Z';

it('is parsed as it was written', () => {
  const state = {
    ...emptyState('eu-1'),
    applied_sha: sha,
    applied_at: at,
    last_check_in: { at, action: 'apply' as const, desired_sha: sha },
    last_outcome: { at, outcome: 'failed', code: 'PULL_FAILED', detail: 'rc=1' },
    attempt: { sha, phase: 'promoted', at },
    failing: { sha, count: 2, retry_at: at, line: 'failed: x' },
    token: { expires_at: at, renewable: true, creation_ttl_s: 3600, trouble: null },
    baseline: { sha, volumes: null, networks: ['n'] },
    purge_pending: { since: at, volumes: ['a'], networks: [] },
    pending_reports: [{ report_id: 'r1', outcome: 'failed' }],
  };
  expect(parseState(JSON.stringify(state))).toEqual(state);
});

it('keeps keys that a newer version added', () => {
  expect(parseState(JSON.stringify({ ...emptyState('eu-1'), later: 1 }))).toMatchObject({ later: 1 });
});

it.each([
  ['', 'state.json is no JSON object'],
  ['{"schema":1,', 'state.json is no JSON object'],
  ['null', 'state.json is no JSON object'],
  ['[]', 'state.json is of schema unknown, this version reads 1'],
  ['{"schema":2}', 'state.json is of schema 2, this version reads 1'],
  ['{"schema":"s3cret"}', 'state.json is of schema unknown, this version reads 1'],
])('rejects %j', (text, fault) => {
  expect(parseState(text)).toEqual({ fault });
});

it.each([
  [{ env: '../x' }, 'env'],
  [{ applied_sha: 'abc' }, 'applied_sha'],
  [{ highest_sequence: -1 }, 'highest_sequence'],
  [{ highest_sequence: 1e300 }, 'highest_sequence'],
  [{ attempt: { sha } }, 'attempt'],
  [{ failing: { sha, count: 1, retry_at: 'soon', line: '' } }, 'failing/retry_at'],
  [{ token: null }, 'token'],
  [{ baseline: { sha, volumes: 'a', networks: [] } }, 'baseline/volumes'],
  [{ purge_pending: { since: at, volumes: [1], networks: [] } }, 'purge_pending/volumes/0'],
  [{ pending_reports: [{}] }, 'pending_reports/0'],
  [{ applied_sha: undefined }, 'its top'],
])('reports the position of the error in %j', (patch, where) => {
  const parsed = parseState(JSON.stringify({ ...emptyState('eu-1'), ...patch }));
  expect(isInvalidState(parsed) && parsed.fault.startsWith(`state.json is wrong at ${where}: `)).toBe(true);
});
