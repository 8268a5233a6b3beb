import type { AnyEventObject, AnyStateMachine, AnyTransitionDefinition } from 'xstate';
import { done, fails, inert, runs, type Run } from '../fixtures/machine-kit.ts';
import * as facts from '../fixtures/spec-facts.ts';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { graphOf } from './draw/graph.ts';
import { endingNames } from './endings.ts';
import { Fault } from './fault.ts';
import { loop } from './loop.ts';
import { plain } from './outcomes.ts';
import { tick } from './tick.ts';

/**
 * Every machine with services that never answer by themselves, so that each answer can be given in each state: the
 * shortest way to every reachable state, and from there every event that is possible.
 */
const bug = new Error('a bug');
const everyError = [...endingNames.map((ending) => new Fault(ending, `ends as ${ending}`)), bug];
const someErrors = [new Fault('failed', 'failed: anything'), bug];

const outputs: Record<string, unknown[]> = {
  bootstrap: [{ exchanged: true }, { exchanged: false }],
  recall: [facts.absent, facts.granted, facts.present],
  probeHost: [facts.well, facts.ill, facts.halfMade],
  checkIn: [facts.none, facts.applyFirst, facts.applyPaused, facts.takeDown],
  heal: [plain('converged'), plain('unhealthy')],
  apply: [plain('applied'), plain('failed')],
  keepToken: [{ atRisk: true }, { atRisk: false }],
  unpack: [facts.unpacked],
  putBack: [{ reverted: false, lines: [] }],
  revert: [
    { reverted: true, lines: [] },
    { reverted: false, lines: ['revert not finished: anything'] },
  ],
  tick: endingNames.map(plain),
};

/** Where every kind of fault is tried; the machines treat one of any other service in the same way. */
const meetsEveryError = ['takeLock', 'checkIn', 'promote', 'pull', 'up', 'awaitHealth', 'commit'];

const ticks = explore(tick, [facts.onServer, { ...facts.onLaptop, prune: true }, facts.bootstrapOnly]);
const applies = explore(apply, [{ orders: facts.applyFirst }]);

describe.each([
  ['tick', ticks],
  ['apply', applies],
  ['down', explore(down, [{ orders: facts.takeDown }])],
  ['loop', explore(loop, [facts.onServer])],
])('%s', (_, { machine, all }) => {
  it('takes every transition that it defines', () => {
    const taken = new Set(all.flatMap(({ transitions }) => transitions));
    expect(
      definedIn(machine)
        .filter((transition) => !taken.has(transition))
        .map(nameOf),
    ).toEqual([]);
  });

  it('reaches every ending', () => {
    const reached = new Set(all.filter(({ status }) => status === 'done').map(({ state }) => state));
    const endings = graphOf(machine).boxes.filter(({ kind }) => kind === 'ending');
    expect(endings.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
  });
});

describe('a tick', () => {
  const ended = ticks.all.filter(({ status }) => status !== 'active');
  const locked = ended.filter(({ events }) => events.some(({ type }) => type === done('takeLock').type));

  it('never dies of a fault: it comes to an ending', () => {
    expect(ended.filter(({ status }) => status === 'error').map(({ log }) => log)).toEqual([]);
  });

  it('that took the lock forgets its secrets and frees the lock, once each and in this order, whatever fails', () => {
    expect(locked.length).toBeGreaterThan(500);
    expect(locked.filter(({ log }) => closingOf(log).join() !== 'do scrub,ask freeLock')).toEqual([]);
  });

  it('that did not get the lock frees nothing', () => {
    const unlocked = ended.filter((run) => !locked.includes(run));
    expect(new Set(unlocked.flatMap(({ log }) => log))).toEqual(new Set(['ask takeLock', 'do tell']));
  });

  it('comes to its endings only through settled, and there only from closing or without the lock', () => {
    const { arrows, boxes } = graphOf(tick);
    const endings = boxes.filter(({ kind }) => kind === 'ending').map(({ name }) => name);
    const into = (names: string[]) => new Set(arrows.filter(({ to }) => names.includes(to)).map(({ from }) => from));
    expect(into(endings)).toEqual(new Set(['settled']));
    expect(into(['settled'])).toEqual(new Set(['takingLock', 'closing']));
    expect(arrows.filter(({ from }) => from === 'closing').map(({ to }) => to)).toEqual(['settled', 'settled']);
  });

  it('with the lock tells its outcome exactly once before anything is reported', () => {
    const told = locked.map(({ log }) =>
      log.slice(0, log.indexOf('ask conclude')).filter((line) => line === 'do tell'),
    );
    expect(new Set(told.map(({ length }) => length))).toEqual(new Set([1]));
  });
});

describe('an apply', () => {
  const touching = ['promote', 'pull', 'up'].map((service) => `ask ${service}`);

  it('that dies of a fault has touched nothing', () => {
    const died = applies.all.filter(({ status }) => status === 'error');
    expect(died.length).toBeGreaterThan(0);
    expect(died.flatMap(({ log }) => log).filter((line) => touching.includes(line))).toEqual([]);
  });

  it('that fails after the promotion goes back, unless it was cut short: then the attempt stands', () => {
    const failed = applies.all.filter(({ events }) => ['promote', 'pull', 'up', 'awaitHealth'].some(failedIn(events)));
    for (const { events, log } of failed.filter(({ status }) => status === 'done')) {
      const cutShort = events.some(
        ({ error }) => error instanceof Fault && ['stopped', 'interrupted'].includes(error.ending),
      );
      const wentBack = log.includes('ask putBack') || log.includes('ask revert');
      expect([log.join(), wentBack]).toEqual([log.join(), !cutShort]);
    }
  });

  it('touches the containers on the way back only when it had touched them before', () => {
    const logs = applies.all.map(({ log }) => log);
    expect(logs.filter((log) => log.includes('ask revert') && !log.includes('ask up'))).toEqual([]);
    expect(logs.filter((log) => log.includes('ask putBack') && log.includes('ask up'))).toEqual([]);
  });
});

function explore(logic: unknown, inputs: unknown[]): { machine: AnyStateMachine; all: Run[] } {
  const still = inert(logic as AnyStateMachine);
  const events = [{ type: 'STOP' }, { type: 'xstate.after.interval.loop.sleeping' }, ...answersOf(still.machine)];
  return { machine: still.machine, all: inputs.flatMap((input) => [...runs(still, input, events)]) };
}

function answersOf({ implementations }: AnyStateMachine): AnyEventObject[] {
  return Object.keys(implementations.actors).flatMap((service) => [
    ...(outputs[service] ?? [undefined]).map((output) => done(service, output)),
    ...(meetsEveryError.includes(service) ? everyError : someErrors).map((error) => fails(service, error)),
  ]);
}

function definedIn({ root }: AnyStateMachine): AnyTransitionDefinition[] {
  return [root, ...Object.values(root.states)].flatMap(({ transitions, always = [] }) => [
    ...[...transitions.values()].flat(),
    ...always,
  ]);
}

function nameOf({ source, eventType, guard, target }: AnyTransitionDefinition): string {
  return `${source.key} ${eventType} ${JSON.stringify(guard)} → ${target?.map(({ key }) => key).join() ?? 'stays'}`;
}

function closingOf(log: string[]): string[] {
  return log.filter((line) => line === 'do scrub' || line === 'ask freeLock');
}

function failedIn(events: AnyEventObject[]) {
  return (service: string) => events.some(({ type }) => type === fails(service, null).type);
}
