import { eventOf, testEvent } from './event.rules.ts';

const now = Date.parse('2026-11-24T12:00:00Z');
const eventWith = (code: string | null) => eventOf({ type: 'backend.failed', now, env: 'eu-1', code });

it.each(['A', 'PULL_FAILED', 'X509_1', 'A'.repeat(64)])('tells the code %s', (code) => {
  expect(eventWith(code).data.code).toBe(code);
});

it.each([null, '', 'pull', '5XX', 'A'.repeat(65), 'see PULL_FAILED', 'PULL_FAILED: no space', 'PULL_FAILED\n'])(
  'tells no code for %j',
  (code) => expect(eventWith(code).data.code).toBeNull(),
);

it.each([
  ['db-1.example', 'db-1.example'],
  ['a\u0007\u202eb\nc', 'a b c'],
  ['a\u2028\u2029b', 'a b'],
  ['é'.repeat(253), 'é'.repeat(253)],
  ['a'.repeat(254), 'a'.repeat(253)],
])('tells the name %j in one line of limited length', (name, told) => {
  const backend = { id: 'b-1', site: name, check_in: JSON.stringify({ host: { name } }) };
  const bundle = { sha256: 'ab', name, version: name, sequence: 7 };
  expect(eventOf({ type: 'backend.failed', now, env: 'eu-1', backend, bundle }).data).toMatchObject({
    backend: { id: 'b-1', site: told, host: told },
    bundle: { sha256: 'ab', name: told, version: told, sequence: 7 },
  });
});

it('tells of the detail of a report only services and causes', () => {
  const detail = 'failed: docker compose up failed (rc=1)\ncause: migrate=exited(3)\n| password hunter2';
  expect(eventOf({ type: 'backend.failed', now, env: 'eu-1', detail }).data.reason).toBe('migrate exited(3)');
});

it('tells nothing of what it is not about', () => {
  const nothing = { backend: null, bundle: null, code: null, reason: null, rollout: null };
  const timestamp = '2026-11-24T12:00:00.000Z';
  expect(eventWith(null)).toEqual({ type: 'backend.failed', timestamp, data: { env: 'eu-1', ...nothing } });
  expect(testEvent(null, now)).toEqual({ type: 'webhook.test', timestamp, data: { env: null, ...nothing } });
});
