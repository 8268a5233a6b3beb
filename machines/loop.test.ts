import { createActor, fromPromise, SimulatedClock, toPromise, waitFor } from 'xstate';
import { endingNames } from './endings.ts';
import { Fault } from './fault.ts';
import { loop } from './loop.ts';
import { plain } from './outcomes.ts';
import { tick } from './tick.ts';
import type { Credentials, Host, Orders, Outcome, Start } from './words.ts';

const start: Start = { intent: 'tick', prune: false, laptopMode: false };
const interval = 61_000;

it('sleeps the interval between two ticks', async () => {
  const { actor, clock, ticks } = looping(async () => plain('converged'));
  await asleep(actor);
  clock.increment(interval - 1);
  expect(ticks).toHaveLength(1);
  clock.increment(1);
  expect(ticks).toHaveLength(2);
  await asleep(actor);
  actor.send({ type: 'STOP' });
});

it.each(endingNames.filter((ending) => ending !== 'envMismatch'))(
  'goes on after a tick that ended %s',
  async (ending) => {
    const { actor, clock, ticks } = looping(async () => plain(ending));
    await asleep(actor);
    clock.increment(interval);
    expect(ticks).toEqual([start, start]);
    await asleep(actor);
    actor.send({ type: 'STOP' });
  },
);

it('goes on after a tick that died of a bug', async () => {
  const { actor } = looping(() => Promise.reject(new Error('a bug')));
  await asleep(actor);
  actor.send({ type: 'STOP' });
});

it('ends with a tick whose token belongs to another env', async () => {
  const { actor } = looping(async () => plain('envMismatch'));
  await expect(toPromise(actor)).resolves.toEqual({ ending: 'envMismatch' });
});

it('stops at once while it sleeps', async () => {
  const { actor, clock, ticks } = looping(async () => plain('converged'));
  await asleep(actor);
  actor.send({ type: 'STOP' });
  await expect(toPromise(actor)).resolves.toEqual({ ending: 'loopStopped' });
  clock.increment(10 * interval);
  expect(ticks).toHaveLength(1);
});

it('stops in mid-tick only when the tick has given its work up and closed', async () => {
  const log: string[] = [];
  const { promise: busy, resolve: onBusy } = Promise.withResolvers<void>();
  const actor = createActor(loop.provide({ actors: { tick: stoppable(log, onBusy) } }), { input: start });
  const ended = toPromise(actor);
  actor.start();
  await busy;
  actor.send({ type: 'STOP' });
  expect(actor.getSnapshot().value).toBe('ticking');
  await expect(ended).resolves.toEqual({ ending: 'loopStopped' });
  expect(log).toEqual(['abortWork', 'tell', 'scrub', 'freeLock']);
});

/** A loop whose ticks are only counted, and whose clock moves by hand. */
function looping(make: () => Promise<Outcome>) {
  const ticks: Start[] = [];
  const clock = new SimulatedClock();
  const counted = fromPromise<Outcome, Start>(({ input }) => (ticks.push(input), make()));
  const machine = loop.provide({ actors: { tick: counted as unknown as typeof tick }, delays: { interval } });
  const actor = createActor(machine, { input: start, clock }).start();
  return { actor, clock, ticks };
}

function asleep(actor: ReturnType<typeof looping>['actor']) {
  return waitFor(actor, (snapshot) => snapshot.matches('sleeping'));
}

/** The real tick: the step that is under way gives up when it is told to, as every service does. */
function stoppable(log: string[], onBusy: () => void): typeof tick {
  const stop = new AbortController();
  const untilStopped = () =>
    new Promise<Credentials>((_, reject) => {
      onBusy();
      stop.signal.addEventListener('abort', () => reject(new Fault('stopped', 'stopped by SIGTERM')));
    });
  return tick.provide({
    actors: {
      takeLock: fromPromise<void, void>(async () => undefined),
      recall: fromPromise<Credentials, void>(untilStopped),
      conclude: fromPromise<void, { outcome: Outcome; orders: Orders | null; host: Host | null }>(
        async () => undefined,
      ),
      keepToken: fromPromise<{ atRisk: boolean }, { outcome: Outcome }>(async () => ({ atRisk: false })),
      freeLock: fromPromise<void, void>(async () => void log.push('freeLock')),
    },
    actions: {
      abortWork: () => {
        log.push('abortWork');
        stop.abort();
      },
      tell: () => log.push('tell'),
      scrub: () => log.push('scrub'),
    },
  });
}
