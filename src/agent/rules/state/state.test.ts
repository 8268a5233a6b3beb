import { emptyState, isInvalidState, nothingApplied, parseState } from './state.ts';

const sha = 'a'.repeat(64);
const at = '2026-11-21T12:00:00.000Z';
const full = {
  ...emptyState('eu-1'),
  applied_sha: sha,
  applied_at: at,
  applied_version: '7',
  last_check_in: { at, action: 'apply', desired_sha: sha },
  last_outcome: { at, outcome: 'failed', code: 'PULL_FAILED', detail: 'rc=1' },
  attempt: { sha, phase: 'promoted', at },
  failing: { sha, count: 2, retry_at: at, line: 'failed: x' },
  token: { expires_at: at, renewable: true, creation_ttl_s: 3600, trouble: 'x', grant_refused: 'y' },
  baseline: { sha, volumes: ['v'], networks: ['n'] },
  purge_pending: { since: at, volumes: ['a'], networks: [] },
  pending_reports: [{ report_id: 'r1', outcome: 'failed' }],
  lost_volumes: [{ name: 'v', how: 'lost', services: ['db'], at }],
  applied_images: [{ service: 'web', image: 'app:1', digest: `sha256:${sha}`, signers: ['s'] }],
};

it.each<[string, object]>([
  ['with every key', full],
  ['of a new host', emptyState('eu-1')],
  ['without the keys of later versions', { ...emptyState('a'), production_unknown: undefined }],
  ['with keys of a newer version', { ...full, later: 1, attempt: { ...full.attempt, later: 1 } }],
  [
    'with null where nothing is known',
    {
      ...full,
      last_check_in: { at, action: 'none', desired_sha: null },
      last_outcome: { at, outcome: 'applied', code: null, detail: null },
      baseline: null,
      purge_pending: null,
    },
  ],
  ['without the volumes of the baseline', { ...full, baseline: { sha, volumes: null, networks: [] } }],
  ['after a check-in for down', { ...full, last_check_in: { at, action: 'down', desired_sha: null } }],
])('%s is parsed as it was written', (_, state) => {
  expect(parseState(JSON.stringify(state))).toStrictEqual(JSON.parse(JSON.stringify(state)));
});

it.each([
  ['', 'state.json is no JSON object'],
  ['{"schema":1,', 'state.json is no JSON object'],
  ['null', 'state.json is no JSON object'],
  ['1', 'state.json is no JSON object'],
  ['[]', 'state.json is of schema unknown, this version reads 1'],
  ['{"schema":2}', 'state.json is of schema 2, this version reads 1'],
  ['{"schema":"s3cret"}', 'state.json is of schema unknown, this version reads 1'],
])('rejects %j', (text, fault) => {
  expect(parseState(text)).toEqual({ fault });
});

it('knows nothing of a new host, not even whether it is production', () => {
  expect(emptyState('eu-1')).toMatchObject({
    env: 'eu-1',
    production: false,
    production_unknown: true,
    applied_sha: null,
  });
});

const shaFault = 'must match pattern "^[0-9a-f]{64}$"';
const timeFault = 'must match format "time"';

it.each<[string, unknown, string]>([
  ['env', '../x', 'must match pattern "^[a-z0-9][a-z0-9-]{0,62}$"'],
  ['env', 1, 'must be string'],
  ['applied_sha', 'abc', shaFault],
  ['applied_at', 'soon', timeFault],
  ['applied_at', '2026-11-21T99', timeFault],
  ['applied_at', `+00${at}`, timeFault],
  ['applied_at', '2026-11-21', timeFault],
  ['applied_version', 7, 'must be string'],
  ['highest_sequence', -1, 'must be >= 0'],
  ['highest_sequence', 1e300, 'must be <= 9007199254740991'],
  ['highest_sequence', 1.5, 'must be integer'],
  ['production', 'no', 'must be boolean'],
  ['production_unknown', 'no', 'must be boolean'],
  ['last_check_in/at', 'soon', timeFault],
  ['last_check_in/action', 'stay', 'must be equal to one of the allowed values'],
  ['last_check_in/desired_sha', 'abc', shaFault],
  ['last_outcome/at', null, 'must be string'],
  ['last_outcome/outcome', null, 'must be string'],
  ['last_outcome/code', 1, 'must be string'],
  ['last_outcome/detail', 1, 'must be string'],
  ['attempt/sha', null, 'must be string'],
  ['attempt/phase', null, 'must be string'],
  ['attempt/at', 'soon', timeFault],
  ['failing/sha', 'abc', shaFault],
  ['failing/count', -1, 'must be >= 0'],
  ['failing/retry_at', 'soon', timeFault],
  ['failing/line', null, 'must be string'],
  ['token', null, 'must be object'],
  ['token/expires_at', 'soon', timeFault],
  ['token/renewable', null, 'must be boolean'],
  ['token/creation_ttl_s', '1', 'must be number'],
  ['token/trouble', 1, 'must be string'],
  ['token/grant_refused', null, 'must be string'],
  ['applied_images/0/signers', 's', 'must be array'],
  ['applied_images/0/digest', null, 'must be string'],
  ['lost_volumes/0/how', 'moved', 'must be equal to one of the allowed values'],
  ['lost_volumes/0/at', 'soon', timeFault],
  ['baseline/sha', 'abc', shaFault],
  ['baseline/volumes', 'a', 'must be array'],
  ['baseline/volumes/0', null, 'must be string'],
  ['baseline/networks', null, 'must be array'],
  ['purge_pending/since', 'soon', timeFault],
  ['purge_pending/volumes', null, 'must be array'],
  ['purge_pending/networks', null, 'must be array'],
  ['pending_reports', null, 'must be array'],
  ['pending_reports/0/report_id', null, 'must be string'],
])('is wrong at %s with %j', (where, value, problem) => {
  const state = structuredClone(full);
  const keys = where.split('/');
  const parent = keys.slice(0, -1).reduce<object>((object, key) => Reflect.get(object, key) as object, state);
  Reflect.set(parent, keys.at(-1)!, value);
  expect(parseState(JSON.stringify(state))).toEqual({ fault: `state.json is wrong at ${where}: ${problem}` });
});

it.each<[string, object, string]>([
  ['its top', { applied_sha: undefined }, 'applied_sha'],
  ['attempt', { attempt: { sha } }, 'phase'],
  ['pending_reports/0', { pending_reports: [{}] }, 'report_id'],
])('is wrong at %s without a required key', (where, patch, key) => {
  const parsed = parseState(JSON.stringify({ ...full, ...patch }));
  const fault = `state.json is wrong at ${where}: must have required property '${key}'`;
  expect(isInvalidState(parsed) && parsed.fault).toBe(fault);
});

it('tells nothing of an applied bundle once none is applied', () => {
  const nothing = { applied_sha: null, applied_at: null, applied_version: null };
  const lists = { applied_signers: [], applied_images: [], lost_volumes: [] };
  expect({ ...full, ...nothingApplied }).toEqual({ ...full, ...nothing, ...lists });
});
