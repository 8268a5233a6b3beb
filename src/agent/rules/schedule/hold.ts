import type { ToldHold } from '../../../api/checkIn.rules.ts';
import { isTimestamp } from '../state/timestamp.ts';

const DAY_MS = 86_400_000;

/** The longest hold, in milliseconds. */
export const maxHoldMs = 7 * DAY_MS;
/** How long a hold lasts that was made without an end, in milliseconds. */
export const defaultHoldMs = DAY_MS;
/** Most characters of the reason of a hold, and of the name of who made it. */
export const maxLineCharacters = 200;

/** An order of the host's operator that nothing be applied, healed or taken down there. */
export interface Hold {
  /** When it ends by itself (RFC 3339, UTC). */
  until: string;
  /** One line of the operator's. */
  reason: string | null;
  /** Login name of who made it, as the host knew it; absent where it knew none, and in holds of older versions. */
  by?: string;
}

/** The file of a hold as it is on the disk. */
export interface HoldFile {
  text: string;
  /** When it was last written, in milliseconds since 1970. */
  modifiedMs: number;
}

/** A hold that stands now. */
export interface StandingHold extends Hold {
  /** When its file was written, or now for one from the future. */
  since: string;
  /** True when its file tells neither end nor reason; then the reason says so. */
  isDamaged: boolean;
}

/** The text of the file of a hold. */
export function formatHold({ until, reason, by }: Hold): string {
  return `${JSON.stringify({ schema: 1, until, reason, by }, null, 2)}\n`;
}

/**
 * The hold that stands; null without one, and after its end. It ends seven days after its file was written, whatever the file
 * says; a file that was written in the future, under a clock that has been set back since, counts as written now. A file that
 * this version cannot read holds for as long: nothing is changed on a host that somebody may have wanted left alone.
 */
export function standingHold(file: HoldFile | null, now: Date): StandingHold | null {
  if (file === null) return null;
  const begin = Math.min(file.modifiedMs, now.getTime());
  const latest = begin + maxHoldMs;
  const parsed = parseHold(file.text);
  const end = parsed === null ? latest : Math.min(Date.parse(parsed.until), latest);
  if (end <= now.getTime()) return null;
  const told = parsed ?? { reason: 'hold.json is damaged, or of another version of deployd' };
  const [since, until] = [new Date(begin).toISOString(), new Date(end).toISOString()];
  return { ...told, since, until, isDamaged: parsed === null };
}

/** A hold as the end of a sentence: until when, since when, by whom, and why, as far as that is known. */
export function formatStanding({ until, since, by, reason }: ToldHold): string {
  const times = since === undefined ? `until ${until}` : `until ${until}, since ${since}`;
  return `${times}${by === undefined ? '' : `, by ${by}`}${reason === null ? '' : `: ${reason}`}`;
}

function parseHold(text: string): Hold | null {
  const { schema, until, reason, by } = { ...(parseJson(text) as Record<string, unknown> | null) };
  const isValid = schema === 1 && typeof until === 'string' && isTimestamp(until);
  if (!isValid || (reason !== null && (typeof reason !== 'string' || !isLine(reason)))) return null;
  return { until, reason, ...(typeof by === 'string' && isLine(by) && { by }) };
}

/** True for a line that can be shown on a terminal and sent to the tenancy service, as a reason or a name. */
export function isLine(text: string): boolean {
  return text.length <= maxLineCharacters && /^(?! )[^\p{C}\u2028\u2029]+(?<! )$/u.test(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
