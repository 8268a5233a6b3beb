import { createActor, toPromise, type InspectionEvent } from 'xstate';
import { endings, otherEndings } from '../../machines/endings.ts';
import { loop } from '../../machines/loop.ts';
import { outcomeOf } from '../../machines/outcomes.ts';
import type { Start } from '../../machines/words.ts';
import type { Settings } from '../config/settings.ts';
import { createJournal, type Journal } from '../journal/journal.ts';
import type { Vault } from '../secrets/vault.ts';
import { version } from '../version.ts';
import { wire } from '../wire.ts';

const JITTER_MS = 10_000;

/** What of a start the command decides; the rest stands in the configuration. */
type Wish = Omit<Start, 'laptopMode'>;

/** Interprets the tick machine once (spec §2.1); the exit code is the ending's. */
export async function runOnce(settings: Settings, vault: Vault, wish: Wish): Promise<number> {
  return interpreting(settings, vault, async ({ journal, machine }) => {
    const input = { ...wish, laptopMode: settings.laptop_mode };
    const actor = createActor(machine, { input, inspect: transitionsTo(journal) });
    const ended = toPromise(actor);
    stopAtSignals(() => actor.send({ type: 'STOP' }));
    actor.start();
    return endings[(await ended).ending].meta.exit;
  });
}

/** The loop: tick, `interval_s` plus up to 10 s of jitter, until SIGTERM or a wrong env (spec §2.2). */
export async function runLoop(settings: Settings, vault: Vault, wish: Wish): Promise<number> {
  return interpreting(settings, vault, async ({ journal, machine }) => {
    const input = { ...wish, laptopMode: settings.laptop_mode };
    const interval = () => settings.interval_s * 1000 + Math.random() * JITTER_MS;
    const looping = loop.provide({ actors: { tick: machine }, delays: { interval } });
    const actor = createActor(looping, { input, inspect: transitionsTo(journal) });
    const ended = toPromise(actor);
    stopAtSignals(() => actor.send({ type: 'STOP' }));
    actor.start();
    return { ...endings, ...otherEndings }[(await ended).ending].meta.exit;
  });
}

type Interpret = (parts: { journal: Journal; machine: Awaited<ReturnType<typeof wire>>['machine'] }) => Promise<number>;

/** Opens the journal and wires the machine; what fails before a tick can begin is told like the end of one. */
async function interpreting(settings: Settings, vault: Vault, interpret: Interpret): Promise<number> {
  const { format, level } = settings.log;
  const redact = () => vault.redactor();
  const journal = createJournal({ format, level, redact, stderr: process.stderr, isTerminal: process.stderr.isTTY });
  try {
    const { machine } = await wire({ settings, vault, journal, version });
    return await interpret({ journal, machine });
  } catch (error) {
    const { ending, lines } = outcomeOf(error, settings.laptop_mode);
    for (const line of lines) journal.error(line);
    return endings[ending].meta.exit;
  } finally {
    await journal.flush();
  }
}

/** A second signal has its usual effect. */
function stopAtSignals(stop: () => void): void {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** One debug line per transition: names of states and types of events, never what they carry. */
function transitionsTo(journal: Journal): (event: InspectionEvent) => void {
  return (event) => {
    if (event.type !== '@xstate.microstep') return;
    const { snapshot, actorRef } = event;
    if ('value' in snapshot && 'id' in actorRef)
      journal.debug(`state: ${String(actorRef.id)} ${JSON.stringify(snapshot.value)}`, { on: event.event.type });
  };
}
