import { endings } from '../../../../machines/endings.ts';
import { type Paint, type PaintStyle, terminalSafe } from '../../../core/text.rules.ts';
import { formatStanding } from '../schedule/hold.ts';
import { formatDuration } from '../trace/formatTrace.ts';
import { shortSha } from '../trace/reasons.ts';
import type { HistoryEntry, TickEntry } from './historyEntry.ts';

/** The history as text, one line for each entry, in the order given. */
export function formatHistory(entries: readonly HistoryEntry[], paint: Paint): string {
  return entries.map((entry) => formatEntry(entry, paint)).join('\n');
}

function formatEntry(entry: HistoryEntry, paint: Paint): string {
  const [style, ...parts] = partsOf(entry);
  const [word = '', ...rest] = parts.map(terminalSafe);
  return [paint('dim', `${entry.at.slice(0, 19)}Z`), paint(style, word.padEnd(wordWidth)), ...rest]
    .join('  ')
    .trimEnd();
}

/** Of the longest words, `outsideWindow` and `unauthenticated` apart, which are rare. */
const wordWidth = 12;

function partsOf(entry: HistoryEntry): [style: PaintStyle, word: string, ...rest: string[]] {
  if (entry.event === 'hold') return ['yellow', 'hold', formatStanding(entry)];
  if (entry.event === 'unhold') return ['green', 'unhold'];
  const { tick, ms, sha, version } = entry;
  const bundle = [sha === null ? '' : shortSha(sha), version ?? ''].filter(Boolean).join(' ');
  return [
    styleOf(entry),
    wordOf(entry),
    tick.slice(0, 8),
    formatDuration(ms).padStart(10),
    bundle.padEnd(12),
    why(entry),
  ];
}

function wordOf({ ending, healed }: TickEntry): string {
  return ending === 'converged' ? (healed ? 'healed' : 'recovered') : ending;
}

function styleOf({ ending, healed }: TickEntry): PaintStyle {
  if (!Object.hasOwn(endings, ending)) return 'plain';
  const { exit } = endings[ending].meta;
  if (exit !== 0) return exit === 75 ? 'yellow' : 'red';
  return healed || ending === 'held' || ending === 'outsideWindow' ? 'yellow' : 'green';
}

/** Why, with the codes that it does not name itself, what was reverted, and who signed. */
function why({ codes, reason, reverted, signers }: TickEntry): string {
  const unnamed = codes.filter((code) => !reason?.includes(code));
  const parts = [
    ...(unnamed.length > 0 ? [unnamed.join(', ')] : []),
    ...(reason === null ? [] : [reason]),
    ...(reverted ? ['the previous release was brought back'] : []),
    ...(signers.length > 0 ? [`signed by ${signers.join(', ')}`] : []),
  ];
  return parts.join('; ');
}
