import { describeCause } from '../../core/failureCauses.rules.ts';
import type { WebhookEvent } from '../../api/webhooks.rules.ts';
import { FLAP_MS, planDelivery, reasonOf } from './event.rules.ts';

const port = describeCause({ name: 'port-in-use', what: '80' });

it.each([
  [null, null],
  ['', null],
  ['failed: docker compose up failed (rc=1)', null],
  ['failed: docker compose up failed (rc=1)\ncause: migrate=exited(3)', 'migrate exited(3)'],
  [
    `failed: docker compose up failed (rc=1)\ncause: web=created, db=exited(137, out of memory): ${port}`,
    'web created, db exited(137, out of memory); a port of this host is in use',
  ],
  ['failed: containers not healthy after 30s: web=unhealthy (2 restarts), db=missing', 'web unhealthy, db missing'],
  [
    `ENGINE_ERROR: the container engine answers 500: password=hunter2 said the daemon: ${port}`,
    'a port of this host is in use',
  ],
  ['failed: x\nrevert not finished: failed: web=exited(1)', null],
  ['failed: a\nprinted=exited(1)', null],
  ['failed: <b>=exited(1), a=exited(1)<script>, b=exited(99999)', 'a exited(1)'],
])('reduces the detail %j to %j', (detail, told) => {
  expect(reasonOf(detail)).toBe(told);
});

it('names ten services at most', () => {
  const detail = Array.from({ length: 12 }, (_, index) => `s${index}=exited(1)`).join(', ');
  expect(reasonOf(detail)?.split(', ')).toHaveLength(10);
});

describe('the delivery of an event of a host', () => {
  const now = 1_800_000_000_000;
  const eventOfType = (type: WebhookEvent['type'], code: string | null = null): WebhookEvent => ({
    ...{ type, timestamp: '' },
    data: { env: 'eu-1', backend: null, bundle: null, code, reason: null, rollout: null },
  });
  const [failed, recovered] = [eventOfType('backend.failed'), eventOfType('backend.recovered')];
  const waits = (id: string, event: WebhookEvent, dueIn = 0, tries = 0) => ({ id, event, due_at: now + dueIn, tries });

  it.each([
    ['is now for the first one', failed, [], null, { dueAt: now, replaced: [] }],
    ['is now after the time of repeats', failed, [], now - FLAP_MS, { dueAt: now, replaced: [] }],
    ['is held for a repeat', failed, [], now - 1, { dueAt: now - 1 + FLAP_MS, replaced: [] }],
    ['stays where it was held', failed, [waits('a', failed, 5)], now + 5, { dueAt: now + 5, replaced: ['a'] }],
    [
      'replaces the previous one',
      failed,
      [waits('a', failed), waits('b', recovered)],
      now,
      { dueAt: now, replaced: ['a'] },
    ],
    ['is now for the end of a trouble', recovered, [], now, { dueAt: now, replaced: [] }],
    ['does not overtake others', recovered, [waits('a', failed, 9, 1)], null, { dueAt: now + 9, replaced: [] }],
    [
      'is needless for a held trouble that ended',
      recovered,
      [waits('a', failed, 9)],
      null,
      { dueAt: null, replaced: ['a'] },
    ],
    ['follows a trouble that is due', recovered, [waits('a', failed)], null, { dueAt: now, replaced: [] }],
    [
      'is now for another code',
      eventOfType('backend.failed', 'A'),
      [waits('a', failed)],
      null,
      { dueAt: now, replaced: [] },
    ],
    ['ignores a mark of a clock that was ahead', failed, [], now + FLAP_MS, { dueAt: now, replaced: [] }],
  ])('%s', (_, event, waiting, announcedAt, expected) => {
    expect(planDelivery(event, { waiting, announcedAt, now })).toEqual(expected);
  });
});
