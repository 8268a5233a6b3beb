import { isTimestamp } from '../../core/text.rules.ts';
import type { Ending } from '../../../machines/endings.ts';
import type { Hold, Sha } from '../../../machines/types.ts';

/** One line of `history.jsonl`: a tick that mattered, or an order of an operator. Times are RFC 3339 in UTC. */
export type HistoryEntry = TickEntry | HoldEntry | UnholdEntry;

/** A tick that mattered. */
export interface TickEntry {
  schema: 1;
  event: 'tick';
  /** When it began. */
  at: string;
  /** Its id, by which `deployd trace` shows it. */
  tick: string;
  ms: number;
  ending: Ending;
  /** True when it healed unhealthy services. */
  healed: boolean;
  /** True when the previous release was restored. */
  reverted: boolean;
  /** Codes of the refusals or the failure. */
  codes: string[];
  /** The desired bundle; null if there is none, or the tick did not learn it. */
  sha: Sha | null;
  /** Version of the bundle, once it is applied. */
  version: string | null;
  /** Its signers, if the tick verified them. */
  signers: readonly string[];
  /** One line without a secret; null without a detail. */
  reason: string | null;
}

/** An operator made a hold. */
interface HoldEntry extends Hold {
  schema: 1;
  event: 'hold';
  at: string;
}

/** An operator ended a hold. */
interface UnholdEntry {
  schema: 1;
  event: 'unhold';
  at: string;
}

/** Maximum number of lines; the newest are kept. */
const maxHistoryLines = 500;

/** The text of the file with one more entry; lines that this version cannot read stay until they are the oldest. */
export function withEntry(text: string, entry: HistoryEntry): string {
  const lines = text.split('\n').filter(Boolean);
  return [...lines.slice(1 - maxHistoryLines), JSON.stringify(entry), ''].join('\n');
}

/** The entries of the file, newest first, without lines that are damaged or of another version. */
export function parseHistory(text: string): HistoryEntry[] {
  return text.split('\n').flatMap(parseEntry).reverse();
}

function parseEntry(line: string): HistoryEntry[] {
  try {
    const entry: unknown = JSON.parse(line);
    return isEntry(entry) ? [entry] : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is HistoryEntry {
  const { schema, event, at, ...rest } = { ...(value as Record<string, unknown> | null) };
  if (schema !== 1 || !isTime(at)) return false;
  return event === 'tick' ? isTick(rest) : event === 'unhold' || (event === 'hold' && isHold(rest));
}

function isTick(fields: Record<string, unknown>): boolean {
  const { tick, ms, ending, codes, sha, version, signers, reason } = fields;
  const areTexts = [tick, ending].every((each) => typeof each === 'string');
  const areOptional = [sha, version, reason].every((each) => each === null || typeof each === 'string');
  return areTexts && areOptional && typeof ms === 'number' && isTextList(codes) && isTextList(signers);
}

function isHold({ until, reason, by }: Record<string, unknown>): boolean {
  const areTexts = [reason ?? '', by ?? ''].every((each) => typeof each === 'string');
  return isTime(until) && reason !== undefined && areTexts;
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && isTimestamp(value);
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
