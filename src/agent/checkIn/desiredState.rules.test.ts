import type { DesiredState } from '../../../machines/types.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import { desiredStateOf, mayHealDespite, supersededBy } from './desiredState.rules.ts';
import type { CheckInResponse } from '../../api/answers.rules.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];
const now = new Date('2026-11-21T12:00:00.000Z');
const response: CheckInResponse = {
  action: 'apply',
  env: 'eu-1',
  backendId: 'b1',
  production: false,
  desiredSha: b,
  sizeBytes: 10,
  purgeVolumes: false,
  emergency: false,
};
const observed = {
  leader: null,
  swarm: null,
  engineAvailable: true,
  engineFault: null,
  healthy: true,
  attemptInProgress: false,
  unhealthyServices: [],
  problems: [],
  containers: [],
};
const restraints = { hold: null, windows: [], obeysEmergency: false };
const input = { state: { ...emptyState('eu-1'), applied_sha: a }, observed, production: false, ...restraints, now };
const failing = {
  sha: b,
  count: 2,
  retry_at: '2026-11-21T12:00:53.000Z',
  line: 'failed: docker compose pull failed (rc=1)',
};

describe('the desired state of a tick (spec §5)', () => {
  it.each([
    ['another sha', response, input, 'sha_changed'],
    ['the applied sha again', { ...response, desiredSha: a }, input, 'reapply'],
    [
      'a host that drifted',
      { ...response, desiredSha: a },
      { ...input, observed: { ...observed, healthy: false, unhealthyServices: ['web', 'db'] } },
      'drift:web,db',
    ],
    [
      'a host that stays as it is but drifted',
      { ...response, action: 'none' as const },
      { ...input, observed: { ...observed, unhealthyServices: ['web'] } },
      'drift:web',
    ],
    [
      'the leader of its swarm',
      response,
      { ...input, observed: { ...observed, leader: 'one', unhealthyServices: ['web'] } },
      'leader:one',
    ],
    ['none, for a host that stays as it is', { ...response, action: 'none' as const }, input, ''],
    ['a sha that failed', response, { ...input, state: { ...input.state, failing } }, 'retry:2'],
    [
      'another sha than the one that failed and the one that was interrupted',
      response,
      {
        ...input,
        state: { ...input.state, failing: { ...failing, sha: a }, attempt: { sha: a, phase: 'starting', at: '' } },
      },
      'sha_changed',
    ],
    [
      'an interrupted attempt',
      response,
      { ...input, state: { ...input.state, attempt: { sha: b, phase: 'starting', at: '' } } },
      'resume:starting',
    ],
    ['a retirement', { ...response, action: 'down' as const }, input, 'retired'],
  ])('has a reason: %s', (_, checkIn, facts, reason) => {
    expect(desiredStateOf(checkIn, facts).reason).toBe(reason);
  });

  it('contains the retry delay of a sha that failed, with the line of its failure', () => {
    const { retryDelay } = desiredStateOf(response, { ...input, state: { ...input.state, failing } });
    expect(retryDelay).toEqual({ retryInS: 53, line: 'failed: docker compose pull failed (rc=1); retry in 53s' });
  });

  it.each([
    ['that failed long ago', response, { ...failing, retry_at: now.toISOString() }],
    ['that another sha failed for', response, { ...failing, sha: a }],
    ['of a host that stays as it is', { ...response, action: 'none' as const }, failing],
    ['that never failed', { ...response, desiredSha: null }, null],
  ])('contains no retry delay for a sha %s', (_, checkIn, earlier) => {
    expect(desiredStateOf(checkIn, { ...input, state: { ...input.state, failing: earlier } }).retryDelay).toBeNull();
  });

  it('is deferred by a hold', () => {
    const hold = {
      until: '2026-11-21T13:00:00.000Z',
      reason: null,
      since: '2026-11-26T11:00:00.000Z',
      isDamaged: false,
    };
    expect(desiredStateOf(response, { ...input, hold }).deferral).toMatchObject({ ending: 'held' });
  });

  it('contains what the check-in and the state say', () => {
    expect(desiredStateOf({ ...response, purgeVolumes: true }, input)).toEqual({
      action: 'apply',
      desiredSha: b,
      appliedSha: a,
      sizeBytes: 10,
      production: false,
      purgeVolumes: true,
      reason: 'sha_changed',
      retryDelay: null,
      emergency: false,
      deferral: null,
    });
  });

  it.each([
    ['config', { ...input, production: true }, response],
    ['check-in', input, { ...response, production: true }],
    ['the state', { ...input, state: { ...input.state, production: true } }, response],
  ])('is a production environment if %s says so', (_, facts, checkIn) => {
    expect(desiredStateOf(checkIn, facts).production).toBe(true);
    expect(desiredStateOf(response, input).production).toBe(false);
  });
});

describe('a wait for the bundle b', () => {
  const desired = desiredStateOf(response, input);
  const held = { ending: 'held' as const, reason: 'waits:hold', line: 'held', mayHeal: false };

  it.each<[string, Partial<DesiredState>, string | null, string | null]>([
    ['the same bundle', {}, null, null],
    ['a newer one', { desiredSha: a }, `${a} is announced`, `${a} is announced`],
    ['the applied one again', { action: 'none', desiredSha: a }, `${a} is announced`, null],
    ['nothing', { action: 'none', desiredSha: null }, 'nothing is announced', null],
    ['a down', { action: 'down', desiredSha: null }, 'a down is announced', 'a down is announced'],
    ['a newer one under a hold', { desiredSha: a, deferral: held }, null, null],
    ['one that failed before', { desiredSha: a, retryDelay: { line: 'failed', retryInS: 9 } }, null, null],
  ])('is superseded as its work allows by %s', (_, announced, apply, restore) => {
    const now = { ...desired, ...announced };
    expect(supersededBy(now, { work: 'apply', wanted: b })).toBe(apply);
    expect(supersededBy(now, { work: 'restore', wanted: b })).toBe(restore);
    expect(supersededBy(now, { work: 'down', wanted: null })).toBeNull();
  });
});

describe('the applied release is healed after a failed tick', () => {
  const attempt = { sha: b, phase: 'reverting', at: '' };
  const hold = { until: '', reason: null, since: '', isDamaged: false };
  const down = { at: '', action: 'down' as const, desired_sha: null };
  const facts = { hold: null, onFailure: 'revert' as const };

  it.each<[string, boolean, Partial<State>, Partial<Parameters<typeof mayHealDespite>[1]>]>([
    ['as a rule', true, {}, {}],
    ['not under a hold', false, {}, { hold }],
    ['not when the hold is not known', false, {}, { hold: undefined }],
    ['not over an attempt', false, { attempt }, {}],
    ['not before a down', false, { last_check_in: down }, {}],
    ['not over a failed bundle that was left', false, { failing }, { onFailure: 'leave' }],
    ['though another bundle fails', true, { failing }, {}],
  ])('%s', (_, expected, state, more) => {
    expect(mayHealDespite({ ...input.state, failing: null, ...state }, { ...facts, ...more })).toBe(expected);
  });
});
