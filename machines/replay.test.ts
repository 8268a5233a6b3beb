import type { AnyEventObject, AnyStateMachine, AnyTransitionDefinition } from 'xstate';
import {
  doneEvent,
  enumerateRuns,
  errorEvent,
  type Run,
  stubServices,
} from '../fixtures/suites/spec/machineSimulation.ts';
import * as facts from '../fixtures/suites/spec/tickFacts.ts';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { graphOf } from './graph.ts';
import { endingNames } from './endings.ts';
import { Fault, plainOutcome } from './fault.ts';
import { loop } from './loop.ts';
import { tick } from './tick.ts';

/**
 * Explores every machine with stubbed services: the shortest path to every reachable state, and from there every
 * possible event.
 */
const bug = new Error('a bug');
const everyError = [...endingNames.map((ending) => new Fault(ending, `ends as ${ending}`)), bug];
const someErrors = [new Fault('failed', 'failed: anything'), bug];

const outputs: Record<string, unknown[]> = {
  bootstrap: [
    { exchanged: true, refusal: null },
    { exchanged: false, refusal: { ending: 'failed', code: 'BOOTSTRAP_REFUSED', lines: ['refused'], tail: null } },
  ],
  loadState: [facts.tokenAbsent, facts.grantPresent, facts.tokenPresent],
  observeHost: [facts.hostHealthy, facts.hostUnhealthy, facts.hostAttemptInProgress],
  checkIn: [
    ...[facts.desiredNone, facts.desiredFirstApply, facts.desiredInBackoff, facts.desiredDown],
    ...[facts.desiredHeld, facts.desiredOutsideWindow],
  ],
  heal: [plainOutcome('converged'), plainOutcome('unhealthy')],
  healDespite: [plainOutcome('failed')],
  apply: [plainOutcome('applied'), plainOutcome('failed')],
  recordOutcome: [true, false].map((offlineAlarm) => ({ offlineAlarm, heartbeat: null, containers: null })),
  renewToken: [{ atRisk: true }, { atRisk: false }],
  ...Object.fromEntries(Object.entries(facts.cargoAnswers).map(([service, made]) => [service, [made]])),
  restoreCurrent: [{ reverted: false, lines: [] }],
  revertRelease: [
    { reverted: true, lines: [] },
    { reverted: false, lines: ['revert not finished: anything'] },
  ],
  tick: endingNames.map(plainOutcome),
};

/** Services that are tested with every kind of fault; for the others, a bug and one failure are enough. */
const servicesWithEveryError = [
  'acquireLock',
  'checkIn',
  'promote',
  'pull',
  'startContainers',
  'awaitHealth',
  'commit',
];

const ticks = explore(tick, [facts.serverStart, { ...facts.laptopStart, prune: true }, facts.bootstrapStart]);
const applies = explore(apply, [{ desired: facts.desiredFirstApply, hold: null, engineAnswered: true }]);

describe.each([
  ['tick', ticks],
  ['apply', applies],
  ['down', explore(down, [{ desired: facts.desiredDown, hold: null }])],
  ['loop', explore(loop, [facts.serverStart])],
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
  const finished = ticks.all.filter(({ status }) => status !== 'active');
  const locked = finished.filter(({ events }) => events.some(({ type }) => type === doneEvent('acquireLock').type));

  it('reaches an ending whatever fails', () => {
    expect(finished.filter(({ status }) => status === 'error').map(({ log }) => log)).toEqual([]);
  });

  it('that acquired the lock clears its secrets and releases the lock, once each and in this order, whatever fails', () => {
    expect(locked.length).toBeGreaterThan(500);
    expect(locked.filter(({ log }) => closingOf(log).join() !== 'do clearSecrets,ask releaseLock')).toEqual([]);
  });

  it('that did not acquire the lock releases nothing', () => {
    const unlocked = finished.filter((run) => !locked.includes(run));
    expect(new Set(unlocked.flatMap(({ log }) => log))).toEqual(new Set(['ask acquireLock', 'do logOutcome']));
  });

  it('reaches its endings only through selectingEnding, and that only after releasingLock or without the lock', () => {
    const { arrows, boxes } = graphOf(tick);
    const endings = boxes.filter(({ kind }) => kind === 'ending').map(({ name }) => name);
    const into = (names: string[]) => new Set(arrows.filter(({ to }) => names.includes(to)).map(({ from }) => from));
    expect(into(endings)).toEqual(new Set(['selectingEnding']));
    expect(into(['selectingEnding'])).toEqual(new Set(['acquiringLock', 'releasingLock']));
    expect(arrows.filter(({ from }) => from === 'releasingLock').map(({ to }) => to)).toEqual([
      'selectingEnding',
      'selectingEnding',
    ]);
  });

  it('that acquired the lock logs its outcome exactly once before it is recorded', () => {
    const healed = locked.filter(({ events }) => !failedIn(events)('healDespite'));
    const logged = healed.map(({ log }) =>
      log.slice(0, log.indexOf('ask recordOutcome')).filter((line) => line === 'do logOutcome'),
    );
    expect(new Set(logged.map(({ length }) => length))).toEqual(new Set([1]));
  });
});

describe('an apply', () => {
  const changing = ['promote', 'pull', 'startContainers'].map((service) => `ask ${service}`);

  it('that ends with an error has changed nothing on the host', () => {
    const failed = applies.all.filter(({ status }) => status === 'error');
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.flatMap(({ log }) => log).filter((line) => changing.includes(line))).toEqual([]);
  });

  it('that fails after the promotion reverts, unless it was interrupted', () => {
    const failed = applies.all.filter(({ events }) =>
      ['promote', 'pull', 'startContainers', 'awaitHealth'].some(failedIn(events)),
    );
    for (const { events, log } of failed.filter(({ status }) => status === 'done')) {
      const wasInterrupted = events.some(
        ({ error }) => error instanceof Fault && ['stopped', 'interrupted', 'superseded'].includes(error.ending),
      );
      const reverted = log.includes('ask restoreCurrent') || log.includes('ask revertRelease');
      expect([log.join(), reverted]).toEqual([log.join(), !wasInterrupted]);
    }
  });

  it('changes containers during a revert only if it changed them before', () => {
    const logs = applies.all.map(({ log }) => log);
    expect(logs.filter((log) => log.includes('ask revertRelease') && !log.includes('ask startContainers'))).toEqual([]);
    expect(logs.filter((log) => log.includes('ask restoreCurrent') && log.includes('ask startContainers'))).toEqual([]);
  });
});

function explore(logic: unknown, inputs: unknown[]): { machine: AnyStateMachine; all: Run[] } {
  const stubbed = stubServices(logic as AnyStateMachine);
  const events = [{ type: 'STOP' }, { type: 'xstate.after.interval.loop.sleeping' }, ...answersOf(stubbed.machine)];
  return { machine: stubbed.machine, all: inputs.flatMap((input) => [...enumerateRuns(stubbed, input, events)]) };
}

function answersOf({ implementations }: AnyStateMachine): AnyEventObject[] {
  return Object.keys(implementations.actors).flatMap((service) => [
    ...(outputs[service] ?? [undefined]).map((output) => doneEvent(service, output)),
    ...(servicesWithEveryError.includes(service) ? everyError : someErrors).map((error) => errorEvent(service, error)),
  ]);
}

function definedIn({ root }: AnyStateMachine): AnyTransitionDefinition[] {
  return [root, ...Object.values(root.states)].flatMap(({ transitions, always = [] }) => [
    ...[...transitions.values()].flat(),
    ...always,
  ]);
}

function nameOf({ source, eventType, guard, target }: AnyTransitionDefinition): string {
  return `${source.key} ${eventType} ${JSON.stringify(guard)} → ${target?.map(({ key }) => key).join() ?? 'none'}`;
}

function closingOf(log: string[]): string[] {
  return log.filter((line) => line === 'do clearSecrets' || line === 'ask releaseLock');
}

function failedIn(events: AnyEventObject[]) {
  return (service: string) => events.some(({ type }) => type === errorEvent(service, null).type);
}
