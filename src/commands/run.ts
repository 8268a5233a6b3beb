import { createActor, toPromise, type InspectionEvent } from 'xstate';
import { endings, otherEndings } from '../../machines/endings.ts';
import { loop } from '../../machines/loop.ts';
import type { Start } from '../../machines/words.ts';
import type { Journal } from '../journal/journal.ts';
import { wire, type Parts } from '../wire.ts';

const JITTER_MS = 10_000;

/** Interprets the tick machine once (spec §2); the exit code is the ending's. */
export async function runOnce(parts: Parts, start: Start): Promise<number> {
  const { machine } = await wire(parts);
  const actor = createActor(machine, { input: start, inspect: transitionsTo(parts.journal) });
  const ended = toPromise(actor);
  stopAtSignals(() => actor.send({ type: 'STOP' }));
  actor.start();
  const { ending } = await ended;
  return endings[ending].meta.exit;
}

/** The loop: tick, `interval_s` plus up to 10 s of jitter, until SIGTERM or a wrong env (spec §2). */
export async function runLoop(parts: Parts, start: Start): Promise<number> {
  const { machine } = await wire(parts);
  const interval = () => parts.settings.interval_s * 1000 + Math.random() * JITTER_MS;
  const looping = loop.provide({ actors: { tick: machine }, delays: { interval } });
  const actor = createActor(looping, { input: start, inspect: transitionsTo(parts.journal) });
  const ended = toPromise(actor);
  stopAtSignals(() => actor.send({ type: 'STOP' }));
  actor.start();
  const { ending } = await ended;
  return { ...endings, ...otherEndings }[ending].meta.exit;
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
