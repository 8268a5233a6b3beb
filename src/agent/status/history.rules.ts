import { type Ending, endings } from '../../../machines/endings.ts';
import type { Outcome } from '../../../machines/types.ts';
import { type Paint, type PaintStyle, terminalSafe } from '../../core/text.rules.ts';
import { formatStanding } from '../checkIn/hold.rules.ts';
import { type Decision, isQuiet, type Trace } from '../journal/trace.rules.ts';
import type { HistoryEntry, TickEntry } from '../state/history.rules.ts';
import { formatDuration, reasonsOf, shortSha } from './formatTrace.rules.ts';

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

/** Width of the longest words, except the rare `outsideWindow` and `unauthenticated`. */
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

/** The reason, with the codes that it does not contain, the reverted bundle, and the signers. */
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

/** The facts of a tick about its bundle that are not in its trace. */
interface TickFacts {
  outcome: Pick<Outcome, 'lines' | 'reason' | 'reverted'> | null;
  /** Version of the applied bundle. */
  version: string | null;
}

/** Maximum number of characters of a reason, and of signers. */
const [maxReason, maxSigners] = [500, 16];

/** The history's entry of a tick that has ended. */
export function tickEntryOf(trace: Trace, { outcome, version }: TickFacts): TickEntry {
  const { started_at: at, tick, ms, ending, codes, decisions } = trace;
  const healed = outcome?.reason.startsWith('healed:') ?? false;
  const desired = decisions.findLast((each) => each.word === 'desired');
  const [first, second = ''] = outcome?.lines ?? [];
  const line = first !== undefined && second.startsWith('cause: ') ? `${first}; ${second}` : first;
  const reason = line ?? (ending === 'converged' && !healed ? null : (reasonsOf(trace)[0] ?? null));
  return {
    ...{ schema: 1, event: 'tick', at, tick, ms, ending, codes },
    healed,
    reverted: outcome?.reverted === true || decisions.some(isRevert),
    sha: desired?.desired ?? null,
    version: ending === 'applied' ? version : null,
    signers: signersIn(trace).slice(0, maxSigners),
    reason: reason && reason.slice(0, maxReason),
  };
}

/** The signers of the bundle that the tick should apply. */
function signersIn({ decisions }: Trace): readonly string[] {
  return decisions.findLast((each) => each.word === 'signed')?.signers ?? [];
}

/** True when the tick converged like the previous one, so that the history need not be read. */
export function isUneventful(trace: Trace, wasQuiet: boolean): boolean {
  return wasQuiet && trace.ending === 'converged' && isQuiet(trace);
}

/**
 * True for a tick that changed something (applied, healed, reverted), for the first tick with a problem, deferral or
 * tear-down, and for the first healthy tick after a problem. `history` contains the kept entries, newest first.
 */
export function matters(entry: TickEntry, history: readonly HistoryEntry[]): boolean {
  const { ending, healed, reverted } = entry;
  if (neverTold.includes(ending)) return false;
  if (ending === 'applied' || ending === 'bootstrapped' || healed || reverted) return true;
  const previous = history.find((each) => each.event === 'tick');
  if (ending === 'converged') return previous !== undefined && wasTrouble(previous);
  return previous === undefined || !tellsTheSame(previous, entry);
}

/**
 * Another running tick, an order to stop, a laptop without a network, and the wait after a failure that is already
 * reported.
 */
const neverTold: readonly Ending[] = ['busy', 'stopped', 'offlineLaptop', 'paused'];

function wasTrouble({ ending }: TickEntry): boolean {
  return Object.hasOwn(endings, ending) && endings[ending].meta.exit !== 0;
}

function tellsTheSame(one: TickEntry, other: TickEntry): boolean {
  const told = ({ ending, codes, sha }: TickEntry) => JSON.stringify([ending, codes, sha]);
  return told(one) === told(other);
}

function isRevert({ word }: Decision): boolean {
  return word === 'reverted' || word === 'interrupted-reverted';
}
