import { maxHistoryLines, parseHistory, withEntry, type HistoryEntry } from './historyEntry.ts';

const at = '2026-11-26T12:00:00.000Z';
const unhold: HistoryEntry = { schema: 1, event: 'unhold', at };
const hold: HistoryEntry = { schema: 1, event: 'hold', at, until: at, reason: null };
const tick: HistoryEntry = {
  ...{ schema: 1, event: 'tick', at, tick: 'a', ms: 1, ending: 'applied', healed: false, reverted: false, codes: [] },
  ...{ sha: null, version: '1', signers: ['key a'], reason: 'because' },
};

it('reads back what it wrote, newest first', () => {
  const text = [tick, hold, unhold].reduce(withEntry, '');
  expect(parseHistory(text)).toEqual([unhold, hold, tick]);
});

it('keeps the newest lines, whatever is in them', () => {
  const old = Array.from({ length: maxHistoryLines + 5 }, (_, index) => `line ${index}`);
  const lines = withEntry(`${old.join('\n')}\n`, hold).split('\n');
  expect(lines.at(0)).toBe('line 6');
  expect(lines.slice(-2)).toEqual([JSON.stringify(hold), '']);
  expect(lines).toHaveLength(maxHistoryLines + 1);
});

it.each([
  ['a line that was cut off', '{"schema":1,"event":"ti'],
  ['no object', 'null'],
  ['another schema', JSON.stringify({ ...tick, schema: 2 })],
  ['another event', JSON.stringify({ ...hold, event: 'reboot' })],
  ['no time', JSON.stringify({ ...unhold, at: 'now' })],
  ['a hold by no name', JSON.stringify({ ...hold, by: 1 })],
  ['a hold without an end', JSON.stringify({ ...hold, until: undefined })],
  ['a tick without a duration', JSON.stringify({ ...tick, ms: '1' })],
  ['codes that are no texts', JSON.stringify({ ...tick, codes: [1] })],
  ['signers that are none', JSON.stringify({ ...tick, signers: null })],
  ['a reason that is no text', JSON.stringify({ ...tick, reason: 1 })],
])('passes over %s, and keeps it', (_what, line) => {
  const text = withEntry(`${line}\n`, unhold);
  expect(text).toContain(`${line}\n`);
  expect(parseHistory(text)).toEqual([unhold]);
});
