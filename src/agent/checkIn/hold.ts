import { join } from 'node:path';
import { outcomeOf } from '../../../machines/fault.ts';
import type { Hold } from '../../../machines/types.ts';
import type { DeferringFacts } from '../../api/checkIn.rules.ts';
import { diskFault, isENOENT } from '../../core/errors.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Output } from '../journal/terminal.ts';
import { removeDurably, writeDurably } from '../state/durableFiles.ts';
import { readText, statIfExists } from '../state/fileSystem.ts';
import type { HistoryEntry } from '../state/history.rules.ts';
import { readLock } from '../state/lock.ts';
import { addToHistory } from '../state/stateFile.ts';
import { deferringFactsOf } from './desiredState.rules.ts';
import {
  formatHold,
  formatStanding,
  holdEndOf,
  type HoldFile,
  isLine,
  maxLineCharacters,
  standingHold,
} from './hold.rules.ts';

/**
 * The file of a hold, null if there is none. It is separate from the state, which only a tick writes, so that a hold
 * can be set while a tick runs.
 */
export async function readHold(stateDir: string): Promise<HoldFile | null> {
  const path = pathIn(stateDir);
  const stats = await statIfExists(path);
  if (stats === null) return null;
  const text = await readText(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
  return text === null ? null : { text, modifiedMs: stats.mtimeMs };
}

/** Sets a hold and replaces an existing one. Throws `DISK_WRITE_FAILED`. */
export async function writeHold(stateDir: string, hold: Hold): Promise<void> {
  await writeDurably(pathIn(stateDir), formatHold(hold), 0o600);
}

/** Ends the hold, if there is one. Throws `DISK_WRITE_FAILED`. */
export async function removeHold(stateDir: string): Promise<void> {
  await removeDurably(pathIn(stateDir));
}

/**
 * Resets a hold with a time in the future, which was set before the clock was set back, to the current time. The file
 * is written again, because only its owner may change its time. Throws faults of the disk.
 */
export async function countHoldFromNow(stateDir: string, now: Date): Promise<void> {
  const file = await readHold(stateDir);
  if (file !== null && file.modifiedMs > now.getTime()) await writeDurably(pathIn(stateDir), file.text, 0o600);
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'hold.json');
}

/** The current reasons to defer an apply. Throws for a hold that cannot be read. */
export async function readDeferringFacts({
  state_dir,
  apply,
}: Pick<Settings, 'state_dir' | 'apply'>): Promise<DeferringFacts> {
  const now = new Date();
  const hold = standingHold(await readHold(state_dir), now);
  return deferringFactsOf({ hold, windows: apply.windows }, now);
}

/** Options of `deployd hold`. */
export interface HoldOptions {
  /** As the operator wrote it; the default is one day from now. */
  until: string | undefined;
  /** Empty without a reason. */
  reason: string;
  /** Login name of the operator, if the host knows it. */
  by: string | null;
}

type Place = Pick<Settings, 'state_dir'>;

/**
 * `deployd hold`: nothing is applied, healed or taken down from the next tick on. Exits with 1 for an invalid end or
 * reason.
 */
export async function hold({ state_dir }: Place, { until, reason, by }: HoldOptions, out: Output): Promise<number> {
  const end = holdEndOf(until, new Date());
  if ('fault' in end) return refuse(out, `--until ${until || "''"} ${end.fault}`);
  if (reason !== '' && !isLine(reason))
    return refuse(out, `the reason must be one line of at most ${maxLineCharacters} characters`);
  return told(out, async () => {
    const made = { until: end.end.toISOString(), reason: reason || null, ...(by !== null && isLine(by) && { by }) };
    await writeHold(state_dir, made);
    await remember(state_dir, { ...nowAs('hold'), ...made }, out);
    out.log(`held until ${made.until}; sooner: sudo deployd unhold`);
    const { held, pid } = await readLock(state_dir);
    if (held)
      out.log(`a tick is at work (pid ${pid ?? 'unknown'}): it ends as it began, the hold counts from the next one on`);
    return 0;
  });
}

/** `deployd hold --show`: prints the current hold in one line; exits with 1 if there is none. */
export async function showHold({ state_dir }: Place, out: Output): Promise<number> {
  return told(out, async () => {
    const standing = standingHold(await readHold(state_dir), new Date());
    out.log(standing === null ? 'no hold' : `held ${formatStanding(standing)}`);
    return standing === null ? 1 : 0;
  });
}

/** `deployd unhold`: the next tick applies the desired state. Exits with 0 also without a hold. */
export async function unhold({ state_dir }: Place, out: Output): Promise<number> {
  return told(out, async () => {
    const stood = await readHold(state_dir).then(
      (file) => standingHold(file, new Date()) !== null,
      () => true,
    );
    await removeHold(state_dir);
    if (stood) await remember(state_dir, nowAs('unhold'), out);
    out.log(stood ? 'the hold is over: the next tick does what waits' : 'there was no hold');
    return 0;
  });
}

function nowAs<Event extends 'hold' | 'unhold'>(event: Event): { schema: 1; event: Event; at: string } {
  return { schema: 1, event, at: new Date().toISOString() };
}

/** Adds an order to the history; a failure to do so does not fail the command. */
async function remember(stateDir: string, entry: HistoryEntry, out: Output): Promise<void> {
  await addToHistory(stateDir, entry).catch((error: unknown) => {
    for (const line of outcomeOf(error, false).lines) out.error(`not in the history: ${line}`);
  });
}

function refuse(out: Output, line: string): number {
  out.error(line);
  return 1;
}

/** Runs a command; prints a fault of the disk as lines of its output. */
async function told(out: Output, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    for (const line of outcomeOf(error, false).lines) out.error(line);
    return 1;
  }
}
