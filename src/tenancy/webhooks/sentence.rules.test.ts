import { eventOf, testEvent } from './event.rules.ts';
import { plain, plainLine, sentenceOf } from './message.rules.ts';

const backend = { id: 'b-1', site: 'berlin', check_in: null };
const unhealthy = { type: 'backend.unhealthy', now: 0, env: 'eu-1', backend } as const;

it.each([
  [eventOf(unhealthy), 'b-1 (berlin, environment eu-1) is unhealthy'],
  [eventOf({ ...unhealthy, code: 'OOM' }), 'b-1 (berlin, environment eu-1) is unhealthy: OOM'],
  [
    eventOf({ ...unhealthy, code: 'UP_FAILED', detail: 'failed: a: db=exited(137, out of memory)' }),
    'b-1 (berlin, environment eu-1) is unhealthy: UP_FAILED: db exited(137, out of memory)',
  ],
  [eventOf({ ...unhealthy, type: 'backend.failed' }), 'b-1 (berlin, environment eu-1) failed to apply its bundle'],
  [testEvent('eu-1', 0), 'a test of the webhook of environment eu-1'],
  [testEvent(null, 0), 'a test of the webhook of all environments'],
])('describes %j as "%s"', (event, text) => {
  expect(sentenceOf(event)).toBe(text);
});

it('keeps letters, marks, digits and punctuation of a name, except markup', () => {
  expect(plain('Zoë-1 (a.b:c_d/e+f,g)')).toBe('Zoë-1 (a.b:c_d/e+f,g)');
  expect(plain('*a*<@b>[c]`')).toBe('-a---b--c--'.replaceAll('-', '\ufffd'));
});

it.each([
  ['@channel @here me@example.org', '＠channel ＠here me＠example.org'],
  ['<!here> <@U1> <https://evil.example|click>', '‹!here› ‹＠U1› ‹https: //evil.example｜click›'],
  ['![x](http://a) www.a.example', '!［x］(http: //a) www .a.example'],
  ['*b* `c` ~s~ _i_ __i__ | # $$x$$ &lt; \\', '∗b∗ ˋcˋ ∼s∼ ＿i＿ ＿＿i＿＿ ｜ ＃ ＄＄x＄＄ ＆lt; ＼'],
  ['DB_HOST="a", b=100% (c); d: {e}?', 'DB_HOST="a", b=100% (c); d: {e}?'],
])('shows the line %j of a host as %j', (line, shown) => {
  expect(plainLine(line)).toBe(shown);
});
