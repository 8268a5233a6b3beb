import { eventOfGate, verdictOf } from './rollout.rules.ts';

it.each([
  ['{"pass":true}', { pass: true, reason: null }],
  ['{"pass":false,"reason":"3 of 40 probes failed","more":1}', { pass: false, reason: '3 of 40 probes failed' }],
  ['{"pass":true,"reason":null}', { pass: true, reason: null }],
  ['{"pass":false,"reason":"one\\n\\u202etwo"}', { pass: false, reason: 'one two' }],
  ['{"pass":"true"}', null],
  ['{"pass":true,"reason":7}', null],
  ['{"reason":"x"}', null],
  ['true', null],
  ['null', null],
  ['[]', null],
  ['', null],
  ['pass', null],
])('%s is the verdict %j', (body, verdict) => {
  expect(verdictOf(body)).toEqual(verdict);
});

it('bounds a reason', () => {
  expect(verdictOf(JSON.stringify({ pass: false, reason: 'x'.repeat(3000) }))?.reason).toHaveLength(253);
});

it.each([
  [{ pass: true, reason: null }, true, { type: 'PASS_GATE' }],
  [{ pass: false, reason: 'no' }, false, { type: 'HALT', by: 'gate' }],
  [null, false, null],
  [null, true, { type: 'HALT', by: 'gate' }],
])('the verdict %j, overdue %s, is the event %j', (verdict, isOverdue, event) => {
  expect(eventOfGate(verdict, isOverdue)).toEqual(event);
});
