import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { graphOf } from './draw/graph.ts';
import { loop } from './loop.ts';
import { tick } from './tick.ts';

/** What the compiler does not see: names in a machine's text that lead nowhere are silent until somebody goes there. */
const machines: AnyStateMachine[] = [tick, apply, down, loop];

/** States whose name says everything. */
const obvious = ['tidying', 'settled'];

describe.each(machines.map((machine) => [machine.id, machine] as const))('%s', (_, machine) => {
  const states = Object.values(machine.root.states) as AnyStateNode[];
  const { boxes, arrows, anywhere } = graphOf(machine);

  it('begins in a state that it has', () => {
    expect(states.map(({ key }) => key)).toContain(machine.config.initial);
  });

  it('is flat, so that one look shows where it is', () => {
    expect(states.filter(({ type }) => type !== 'atomic' && type !== 'final')).toEqual([]);
  });

  it('asks at most one service in a state, under the name of the service', () => {
    const invokes = states.flatMap(({ invoke }) => invoke.map(({ id, src }) => ({ id, src })));
    expect(invokes).toEqual(invokes.map(({ id }) => ({ id, src: id })));
    expect(Math.max(...states.map(({ invoke }) => invoke.length))).toBe(1);
  });

  it('has every service, action, guard and delay that its text names', () => {
    const { actors, actions, guards, delays } = machine.implementations;
    const named = (names: (string | null)[]) =>
      names.filter((name) => name !== null).map((name) => name.split(' ')[0]!);
    const missing = (names: string[], there: object) => names.filter((name) => !(name in there));
    const does = [...boxes.map(({ entry }) => entry), ...[...arrows, ...anywhere].map((arrow) => arrow.actions)].flat();
    const waits = arrows.flatMap(({ on }) => /^after (.+)/.exec(on)?.[1] ?? []);
    expect(missing(named(boxes.map(({ invokes }) => invokes)), actors)).toEqual([]);
    expect(missing(named(does), actions)).toEqual([]);
    expect(missing(named(arrows.map(({ guard }) => guard)), guards)).toEqual([]);
    expect(missing(waits, delays)).toEqual([]);
  });

  it('names every guard and action, so that a picture can show them', () => {
    const calls = states.flatMap(({ transitions, always = [], config }) => [
      ...[...transitions.values(), always].flat().flatMap(({ guard, actions }) => [guard as unknown, ...actions]),
      ...[config.entry ?? [], config.exit ?? []].flat<unknown[]>(),
    ]);
    expect(calls.filter((call) => typeof call === 'function')).toEqual([]);
  });

  it('says in its working states what it is doing', () => {
    const working = boxes.filter(({ kind }) => kind === 'working').map(({ name }) => name);
    expect(working.filter((name) => !/^[a-z]+ing([A-Z]|$)/.test(name))).toEqual([]);
  });

  it('describes every state that is not obvious', () => {
    const silent = boxes.filter(({ description }) => description === null).map(({ name }) => name);
    expect(silent.filter((name) => !obvious.includes(name))).toEqual([]);
  });
});

it.each([tick, loop])('every ending of $id has its exit code', (machine) => {
  const endings = graphOf(machine).boxes.filter(({ kind }) => kind === 'ending');
  expect(endings.length).toBeGreaterThan(1);
  expect(endings.filter(({ exit }) => typeof exit !== 'number')).toEqual([]);
});
