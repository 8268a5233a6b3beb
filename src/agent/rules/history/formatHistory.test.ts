import type { Ending } from '../../../../machines/endings.ts';
import { unpainted, type Paint } from '../../../platform/text/paint.ts';
import { formatHistory } from './formatHistory.ts';
import type { TickEntry } from './historyEntry.ts';

const at = '2026-11-26T12:00:00.000Z';
const named: Paint = (style, text) => (style === 'dim' ? text : `<${style}>${text}`);
const tick = (more: Partial<TickEntry>): TickEntry => ({
  ...{ schema: 1, event: 'tick', at, tick: '0123456789', ms: 9100, ending: 'applied', healed: false, reverted: false },
  ...{ codes: [], sha: 'a'.repeat(64), version: null, signers: [], reason: null, ...more },
});
const lineOf = (more: Partial<TickEntry>, paint = named) => formatHistory([tick(more)], paint);

it('tells a release with who signed it', () => {
  expect(lineOf({ version: '1.2', reason: 'it changed', signers: ['k', 'l'] }, unpainted)).toBe(
    '2026-11-26T12:00:00Z  applied       01234567       9.1 s  aaaaaaaaaaaa 1.2  it changed; signed by k, l',
  );
});

it('tells trouble with the codes that its reason does not name', () => {
  const found = lineOf({ ending: 'failed', codes: ['A', 'B'], reason: 'failed: B', reverted: true, sha: null });
  expect(found).toMatch(/^2026-11-26T12:00:00Z {2}<red>failed .* A; failed: B; the previous release was brought back$/);
});

it.each<[Partial<TickEntry>, string]>([
  [{ ending: 'offline' }, '<yellow>offline '],
  [{ ending: 'held' }, '<yellow>held '],
  [{ ending: 'outsideWindow' }, '<yellow>outsideWindow '],
  [{ ending: 'converged', healed: true }, '<yellow>healed '],
  [{ ending: 'converged' }, '<green>recovered '],
  [{ ending: 'asleep' as Ending }, '<plain>asleep '],
])('%j is %s', (more, word) => {
  expect(lineOf(more)).toContain(word);
});

it('moves no cursor', () => {
  expect(lineOf({ reason: '\x1b[2Jit changed', ending: '\r' as Ending }, unpainted)).not.toMatch(/\p{Cc}/u);
});

it('tells holds', () => {
  const until = '2026-11-27T12:00:00.000Z';
  const orders = [
    { schema: 1, event: 'unhold', at },
    { schema: 1, event: 'hold', at, until, reason: 'disk swap', by: 'kim' },
  ] as const;
  expect(formatHistory(orders, unpainted).split('\n')).toEqual([
    '2026-11-26T12:00:00Z  unhold',
    `2026-11-26T12:00:00Z  hold          until ${until}, by kim: disk swap`,
  ]);
});
