import { publishedFaults } from '../../../fixtures/suites/tenancy/webhooks/publishedSchemas.ts';
import { eventTypes, type WebhookEvent } from '../../api/webhooks.rules.ts';
import { eventOf, type Occurrence, RETIRED, testEvent } from './event.rules.ts';
import { messageOf } from './message.rules.ts';

const now = Date.parse('2026-11-24T12:00:00Z');
const routingKey = 'R0123456789ABCDEF0123456789ABCDE';
const target = `https://events.example/v2/enqueue?routing_key=${routingKey}&a=b`;
const source = 'https://tenancy.example';
const bodyOf = (event: WebhookEvent, format: 'slack' | 'teams' | 'pagerduty') =>
  messageOf(event, { target, format, source }).body as Record<string, never>;

function occurrence(type: Occurrence['type'], name = 'db-1.example'): Occurrence {
  const backend = { id: 'b-1', site: name, check_in: JSON.stringify({ host: { name } }) };
  const bundle = { sha256: 'a'.repeat(64), name, version: name, sequence: 7 };
  const about = type.startsWith('backend.') ? { backend } : {};
  const rollout = type.startsWith('rollout.')
    ? { rollout: { id: 'r-1', failures: 3, halted_by: 'failures' as const, wave: 2, waves: 4, awaited: 1, excused: 2 } }
    : {};
  if (type.startsWith('env.')) return { type, now, env: 'eu-1' };
  return { type, now, env: 'eu-1', bundle, code: 'PULL_FAILED', ...about, ...rollout };
}

const hostile = `<!channel> @here *b* _i_ ~s~ \`c\` [x](https://evil.example) &lt; "q" | # > \u202e\u0007\n${'x'.repeat(300)}`;
const wordsOf = ({ detail, output }: WebhookEvent['data']) => [detail, output].join('\n').split('\n');
const events = [
  ...eventTypes.map((type) => eventOf(occurrence(type))),
  ...eventTypes.map((type) => eventOf(occurrence(type, hostile))),
  eventOf({ type: 'backend.offline', now, env: 'eu-1', backend: { id: 'b-1', site: 's', check_in: null } }),
  testEvent(null, now),
  testEvent('eu-1', now),
  eventOf({ ...occurrence('backend.failed'), detail: hostile, output: `---\n# a\n${hostile}` }),
];

describe.each(['slack', 'teams', 'pagerduty'] as const)('%s', (format) => {
  it('accepts every event, whatever the names in it', () => {
    expect(events.flatMap((event) => publishedFaults(format, bodyOf(event, format)))).toEqual([]);
  });

  it('contains no markup and no control character', () => {
    for (const event of events) {
      const text = JSON.stringify(bodyOf(event, format), (key, value: unknown) =>
        key === 'custom_details' ? wordsOf(value as WebhookEvent['data']) : value,
      );
      expect(text).not.toMatch(/<!|@here|\*b|`c|\[x\]|~s|:\/\/evil|\\u202e|\\u0007|\\n(?!│ )/);
    }
  });
});

it('rejects unpublished formats with the validators', () => {
  expect(publishedFaults('slack', { text: 'a <!channel>' })).not.toEqual([]);
  expect(publishedFaults('teams', { type: 'message', attachments: [] })).not.toEqual([]);
  expect(publishedFaults('pagerduty', { routing_key: routingKey, event_action: 'trigger' })).not.toEqual([]);
});

it.each([
  [
    'backend.refused',
    'db-1.example (db-1.example, environment eu-1) refused db-1.example db-1.example (aaaaaaaaaaaa): PULL_FAILED',
  ],
  [
    'backend.failed',
    'db-1.example (db-1.example, environment eu-1) failed to apply db-1.example db-1.example (aaaaaaaaaaaa): PULL_FAILED',
  ],
  ['backend.unhealthy', 'db-1.example (db-1.example, environment eu-1) is unhealthy: PULL_FAILED'],
  ['backend.recovered', 'db-1.example (db-1.example, environment eu-1) has recovered'],
  ['backend.offline', 'db-1.example (db-1.example, environment eu-1) is offline'],
  ['backend.back', 'db-1.example (db-1.example, environment eu-1) is back'],
  [
    'backend.cloned',
    'db-1.example (db-1.example, environment eu-1) was cloned: two hosts use one token, and neither gets bundles until an operator accepts one',
  ],
  [
    'backend.accepted',
    'db-1.example (db-1.example, environment eu-1) is no longer in doubt: an operator has accepted one host',
  ],
  ['backend.changed', 'db-1.example (db-1.example, environment eu-1) was rebooted'],
  [
    'backend.differs',
    'db-1.example (db-1.example, environment eu-1) has other settings than its environment; deployctl host show b-1 shows them',
  ],
  [
    'rollout.started',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1 has started: 4 waves',
  ],
  [
    'rollout.wave_passed',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1: wave 2 of 4 has passed; 2 hosts excused',
  ],
  [
    'rollout.waiting',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1: wave 2 of 4 still waits for 1 host',
  ],
  [
    'rollout.approval_needed',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1 needs approval: wave 2 of 4 has succeeded; 2 hosts excused',
  ],
  [
    'rollout.done',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1 is done; 2 hosts excused',
  ],
  [
    'rollout.halted',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1 was halted: 3 hosts failed',
  ],
  [
    'rollout.resumed',
    'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1 continues; 2 hosts excused',
  ],
  ['rollout.aborted', 'the rollout of db-1.example db-1.example (aaaaaaaaaaaa) in environment eu-1 was aborted'],
  ['bundle.awaiting_signature', 'db-1.example db-1.example (aaaaaaaaaaaa) of environment eu-1 awaits signatures'],
  ['env.held', 'environment eu-1 is held: the store was restored, and its hosts get no orders until it is reviewed'],
  ['env.released', 'environment eu-1 is released: its hosts get orders again'],
] as const)('describes %s as "%s"', (type, text) => {
  expect(bodyOf(eventOf(occurrence(type)), 'slack')['text']).toBe(text);
});

it.each(['backend.recovered', 'backend.back', 'backend.accepted'] as const)(
  'describes %s of a retiring backend as a retirement',
  (type) => {
    const { body } = messageOf(eventOf({ ...occurrence(type), code: RETIRED }), { target, format: 'slack', source });
    expect(body).toMatchObject({ text: 'db-1.example (db-1.example, environment eu-1) is being retired' });
  },
);

it.each([
  ['gate', 'the rollout of its bundle in environment eu-1 was halted at its gate'],
  ['deadline', 'the rollout of its bundle in environment eu-1 was halted at the deadline of a wave'],
  ['operator', 'the rollout of its bundle in environment eu-1 was halted'],
] as const)('describes a halt by %s as "%s"', (halted_by, text) => {
  const halt = eventOf({ type: 'rollout.halted', now, env: 'eu-1', rollout: { id: 'r-1', failures: 0, halted_by } });
  expect(bodyOf(halt, 'slack')['text']).toBe(text);
});

it('escapes the three characters of Slack', () => {
  const event = testEvent('a&b<c>', now);
  expect(bodyOf(event, 'slack')['text']).toBe('a test of the webhook of environment a&amp;b&lt;c&gt;');
});

it('sends the key to PagerDuty in the body instead of the URL, with one incident for each subject', () => {
  const message = messageOf(eventOf(occurrence('backend.failed')), { target, format: 'pagerduty', source });
  expect(message.url.href).toBe('https://events.example/v2/enqueue?a=b');
  expect(message.body).toMatchObject({ routing_key: routingKey, payload: { source, severity: 'error' } });
  const actions = eventTypes.map((type) => {
    const { dedup_key, event_action } = bodyOf(eventOf(occurrence(type)), 'pagerduty');
    return `${type}: ${event_action} ${dedup_key}`;
  });
  expect(actions).toEqual([
    'backend.refused: trigger deployd/backend/b-1/health',
    'backend.failed: trigger deployd/backend/b-1/health',
    'backend.unhealthy: trigger deployd/backend/b-1/health',
    'backend.recovered: resolve deployd/backend/b-1/health',
    'backend.offline: trigger deployd/backend/b-1/presence',
    'backend.back: resolve deployd/backend/b-1/presence',
    'backend.cloned: trigger deployd/backend/b-1/clone',
    'backend.accepted: resolve deployd/backend/b-1/clone',
    'backend.changed: trigger deployd/backend/b-1/host',
    'backend.differs: trigger deployd/backend/b-1/settings',
    'rollout.started: resolve deployd/rollout/r-1',
    'rollout.wave_passed: resolve deployd/rollout/r-1',
    'rollout.waiting: trigger deployd/rollout/r-1',
    'rollout.halted: trigger deployd/rollout/r-1',
    'rollout.resumed: resolve deployd/rollout/r-1',
    'rollout.approval_needed: trigger deployd/rollout/r-1',
    'rollout.done: resolve deployd/rollout/r-1',
    'rollout.aborted: resolve deployd/rollout/r-1',
    `bundle.awaiting_signature: trigger deployd/bundle/${'a'.repeat(64)}`,
    'env.held: trigger deployd/env/eu-1/restore',
    'env.released: resolve deployd/env/eu-1/restore',
  ]);
});

it('sends the unchanged event in the format standard', () => {
  const event = eventOf(occurrence('backend.failed', 'db-1'));
  expect(messageOf(event, { target, format: 'standard', source })).toEqual({ url: new URL(target), body: event });
});

describe('the whole message', () => {
  const { backend, env } = { backend: { id: 'b-1', site: 'berlin', check_in: null }, env: 'eu-1' };
  const failed = eventOf({ type: 'backend.failed', now, env, backend, code: 'PULL_FAILED' });
  const text = 'b-1 (berlin, environment eu-1) failed to apply its bundle: PULL_FAILED';

  it('for Slack is text without previews', () => {
    expect(bodyOf(failed, 'slack')).toEqual({ text, mrkdwn: false, unfurl_links: false, unfurl_media: false });
  });

  it('for Teams is a card of two paragraphs, the second with type, environment, code and time', () => {
    const textsOf = (event: WebhookEvent) => {
      const { attachments } = bodyOf(event, 'teams') as unknown as { attachments: { content: { body: object[] } }[] };
      return attachments.map(({ content }) => content.body);
    };
    const card = (bold: string, subtle: string) => [
      [
        { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: bold, weight: 'Bolder' }] },
        { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: subtle, isSubtle: true }] },
      ],
    ];
    const time = '2026-11-24T12:00:00.000Z';
    expect(textsOf(failed)).toEqual(card(text, `backend.failed · eu-1 · PULL_FAILED · ${time}`));
    expect(textsOf(testEvent(null, now))).toEqual(
      card('a test of the webhook of all environments', `webhook.test · ${time}`),
    );
  });

  it('for PagerDuty is an event with a class and a group, without a group for all environments', () => {
    const base = { routing_key: routingKey, event_action: 'trigger', client: 'deployd' };
    const timestamp = '2026-11-24T12:00:00.000Z';
    expect(bodyOf(failed, 'pagerduty')).toEqual({
      ...base,
      dedup_key: 'deployd/backend/b-1/health',
      payload: {
        ...{ summary: text, source, severity: 'error', timestamp },
        ...{ class: 'backend.failed', group: 'eu-1', custom_details: failed.data },
      },
    });
    const test = testEvent(null, now);
    expect(bodyOf(test, 'pagerduty')).toEqual({
      ...base,
      dedup_key: 'deployd/test',
      payload: {
        ...{ summary: 'a test of the webhook of all environments', source, severity: 'info', timestamp },
        ...{ class: 'webhook.test', custom_details: test.data },
      },
    });
  });
});
