import type { CheckInResponse } from '../../../protocol/checkIn.ts';
import { desiredStateOf } from './desiredState.ts';
import { emptyState } from './state.ts';

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
};
const observed = {
  engineAvailable: true,
  healthy: true,
  attemptInProgress: false,
  unhealthyServices: [],
  containers: [],
};
const input = { state: { ...emptyState('eu-1'), applied_sha: a }, observed, production: false, now };
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
      { ...input, observed: { ...observed, healthy: false, attemptInProgress: false, unhealthyServices: ['web'] } },
      'drift:web',
    ],
    ['a sha that failed', response, { ...input, state: { ...input.state, failing } }, 'retry:2'],
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
    ['config', { ...input, production: true }, response],
    ['check-in', input, { ...response, production: true }],
    ['the state', { ...input, state: { ...input.state, production: true } }, response],
  ])('is that of a production env when %s says so', (_, facts, checkIn) => {
    expect(desiredStateOf(checkIn, facts).production).toBe(true);
    expect(desiredStateOf(response, input).production).toBe(false);
  });
});
