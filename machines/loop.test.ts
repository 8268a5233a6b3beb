import { createActor, fromPromise, type InputFrom, SimulatedClock, toPromise, waitFor } from 'xstate';
import { endingNames } from './endings.ts';
import { Fault, plainOutcome } from './fault.ts';
import { loop } from './loop.ts';
import type { tickServices } from './services.ts';
import { tick } from './tick.ts';
import type { FoundOnDisk, Outcome, RecordedTick, RunOptions } from './types.ts';

const options: RunOptions = { intent: 'tick', prune: false, laptopMode: false };
const interval = 61_000;

it('sleeps the interval between two ticks', async () => {
  const { actor, clock, ticks } = looping(async () => plainOutcome('converged'));
  await asleep(actor);
  clock.increment(interval - 1);
  expect(ticks).toHaveLength(1);
  clock.increment(1);
  expect(ticks).toHaveLength(2);
  await asleep(actor);
  actor.send({ type: 'STOP' });
});

it.each(endingNames.filter((ending) => ending !== 'envMismatch'))(
  'continues after a tick that ended %s',
  async (ending) => {
    const { actor, clock, ticks } = looping(async () => plainOutcome(ending));
    await asleep(actor);
    clock.increment(interval);
    expect(ticks).toEqual([options, options]);
    await asleep(actor);
    actor.send({ type: 'STOP' });
  },
);

it('continues after a tick that crashed with a bug', async () => {
  const { actor } = looping(() => Promise.reject(new Error('a bug')));
  await asleep(actor);
  actor.send({ type: 'STOP' });
});

it('ends when the token belongs to another environment', async () => {
  const { actor } = looping(async () => plainOutcome('envMismatch'));
  await expect(toPromise(actor)).resolves.toEqual({ ending: 'envMismatch' });
});

it('stops immediately while it sleeps', async () => {
  const { actor, clock, ticks } = looping(async () => plainOutcome('converged'));
  await asleep(actor);
  actor.send({ type: 'STOP' });
  await expect(toPromise(actor)).resolves.toEqual({ ending: 'loopStopped' });
  clock.increment(10 * interval);
  expect(ticks).toHaveLength(1);
});

it('stops during a tick only after the tick has aborted its work and released the lock', async () => {
  const log: string[] = [];
  const { promise: busy, resolve: onBusy } = Promise.withResolvers<void>();
  const actor = createActor(loop.provide({ actors: { tick: stoppable(log, onBusy) } }), { input: options });
  const output = toPromise(actor);
  actor.start();
  await busy;
  actor.send({ type: 'STOP' });
  expect(actor.getSnapshot().value).toBe('ticking');
  await expect(output).resolves.toEqual({ ending: 'loopStopped' });
  expect(log).toEqual(['abortWork', 'logOutcome', 'clearSecrets', 'releaseLock']);
});

/** A loop with a stubbed tick that records its inputs, and a simulated clock. */
function looping(runTick: () => Promise<Outcome>) {
  const ticks: RunOptions[] = [];
  const clock = new SimulatedClock();
  const stub = fromPromise<Outcome, RunOptions>(({ input }) => (ticks.push(input), runTick()));
  const machine = loop.provide({ actors: { tick: stub as unknown as typeof tick }, delays: { interval } });
  const actor = createActor(machine, { input: options, clock }).start();
  return { actor, clock, ticks };
}

function asleep(actor: ReturnType<typeof looping>['actor']) {
  return waitFor(actor, (snapshot) => snapshot.matches('sleeping'));
}

/** The real machine `tick` with stubbed services; `loadState` runs until the abort signal fires. */
function stoppable(log: string[], onBusy: () => void): typeof tick {
  const stop = new AbortController();
  const untilStopped = () =>
    new Promise<FoundOnDisk>((_, reject) => {
      onBusy();
      stop.signal.addEventListener('abort', () => reject(new Fault('stopped', 'stopped by SIGTERM')));
    });
  return tick.provide({
    actors: {
      acquireLock: fromPromise<void, void>(async () => undefined),
      loadState: fromPromise<FoundOnDisk, void>(untilStopped),
      recordOutcome: fromPromise<RecordedTick, InputFrom<typeof tickServices.recordOutcome>>(async () => ({
        ...{ offlineAlarm: false, heartbeat: null, containers: null },
      })),
      renewToken: fromPromise<{ atRisk: boolean }, { outcome: Outcome }>(async () => ({ atRisk: false })),
      releaseLock: fromPromise<void, void>(async () => void log.push('releaseLock')),
    },
    actions: {
      abortWork: () => {
        log.push('abortWork');
        stop.abort();
      },
      logOutcome: () => log.push('logOutcome'),
      clearSecrets: () => log.push('clearSecrets'),
    },
  });
}
