import type { Answer } from '../../../protocol/checkIn.ts';
import { ordersOf } from './orders.ts';
import { emptyState } from '../state/state.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];
const now = new Date('2026-11-21T12:00:00.000Z');
const answer: Answer = {
  action: 'apply',
  env: 'eu-1',
  backendId: 'b1',
  production: false,
  desiredSha: b,
  sizeBytes: 10,
  purgeVolumes: false,
};
const host = { engine: true, healthy: true, halfMade: false, ailing: [], containers: [] };
const standing = { state: { ...emptyState('eu-1'), applied_sha: a }, host, production: false, now };
const failing = {
  sha: b,
  count: 2,
  retry_at: '2026-11-21T12:00:53.000Z',
  line: 'failed: docker compose pull failed (rc=1)',
};

describe('orders of a tick (spec §5)', () => {
  it.each([
    ['another sha', answer, standing, 'sha_changed'],
    ['the applied sha again', { ...answer, desiredSha: a }, standing, 'reapply'],
    [
      'a host that drifted',
      { ...answer, desiredSha: a },
      { ...standing, host: { ...host, healthy: false, halfMade: false, ailing: ['web'] } },
      'drift:web',
    ],
    ['a sha that failed', answer, { ...standing, state: { ...standing.state, failing } }, 'retry:2'],
    [
      'an attempt that was cut short',
      answer,
      { ...standing, state: { ...standing.state, attempt: { sha: b, phase: 'starting', at: '' } } },
      'resume:starting',
    ],
    ['a retirement', { ...answer, action: 'down' as const }, standing, 'retired'],
  ])('say why: %s', (_, given, known, reason) => {
    expect(ordersOf(given, known).reason).toBe(reason);
  });

  it('pause a sha that failed, in the words of its failure', () => {
    const { pause } = ordersOf(answer, { ...standing, state: { ...standing.state, failing } });
    expect(pause).toEqual({ retryInS: 53, line: 'failed: docker compose pull failed (rc=1); retry in 53s' });
  });

  it.each([
    ['config', { ...standing, production: true }, answer],
    ['check-in', standing, { ...answer, production: true }],
    ['what is remembered', { ...standing, state: { ...standing.state, production: true } }, answer],
  ])('are those of a production env when %s says so', (_, known, given) => {
    expect(ordersOf(given, known).production).toBe(true);
    expect(ordersOf(answer, standing).production).toBe(false);
  });
});
