import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { apply, applyLine } from './apply.ts';
import { backend } from './backend.ts';
import { down } from './down.ts';
import { graphOf } from './graph.ts';
import { loop } from './loop.ts';
import { rollout } from './rollout.ts';
import { tick } from './tick.ts';

/** Checks that the compiler cannot make: a misspelt name in a machine fails only when its transition is taken. */
const machines: AnyStateMachine[] = [tick, apply, down, loop, backend, rollout];

/** States that need no description. */
const selfExplanatory = ['decidingPrune', 'selectingEnding'];

describe.each(machines.map((machine) => [machine.id, machine] as const))('%s', (_, machine) => {
  const states = Object.values(machine.root.states) as AnyStateNode[];
  const { boxes, arrows, anywhere } = graphOf(machine);

  it('starts in a state that exists', () => {
    expect(states.map(({ key }) => key)).toContain(machine.config.initial);
  });

  it('has no nested states', () => {
    expect(states.filter(({ type }) => type !== 'atomic' && type !== 'final')).toEqual([]);
  });

  it('invokes at most one service per state, with the name of the service as its id', () => {
    const invokes = states.flatMap(({ invoke }) => invoke.map(({ id, src }) => ({ id, src })));
    expect(invokes).toEqual(invokes.map(({ id }) => ({ id, src: id })));
    expect(states.filter(({ invoke }) => invoke.length > 1)).toEqual([]);
  });

  it('implements every service, action, guard and delay that it names', () => {
    const { actors, actions, guards, delays } = machine.implementations;
    const named = (names: (string | null)[]) =>
      names.filter((name) => name !== null).map((name) => name.split(' ')[0]!);
    const missing = (names: string[], implemented: object) => names.filter((name) => !(name in implemented));
    const actionNames = [
      ...boxes.map(({ entry }) => entry),
      ...[...arrows, ...anywhere].map((arrow) => arrow.actions),
    ].flat();
    const delayNames = arrows.flatMap(({ on }) => /^after (.+)/.exec(on)?.[1] ?? []);
    expect(missing(named(boxes.map(({ invokes }) => invokes)), actors)).toEqual([]);
    expect(missing(named(actionNames), actions)).toEqual([]);
    expect(missing(named(arrows.map(({ guard }) => guard)), guards)).toEqual([]);
    expect(missing(delayNames, delays)).toEqual([]);
  });

  it('refers to every guard and action by name, so that a picture can show it', () => {
    const calls = states.flatMap(({ transitions, always = [], config }) => [
      ...[...transitions.values(), always].flat().flatMap(({ guard, actions }) => [guard as unknown, ...actions]),
      ...[config.entry ?? [], config.exit ?? []].flat<unknown[]>(),
    ]);
    expect(calls.filter((call) => typeof call === 'function')).toEqual([]);
  });

  it('names its working states with present participles', () => {
    const working = boxes.filter(({ kind }) => kind === 'working').map(({ name }) => name);
    expect(working.filter((name) => !/^[a-z]+ing([A-Z]|$)/.test(name))).toEqual([]);
  });

  it('describes every state that is not self-explanatory', () => {
    const undescribed = boxes.filter(({ description }) => description === null).map(({ name }) => name);
    expect(undescribed.filter((name) => !selfExplanatory.includes(name))).toEqual([]);
  });
});

it('does not compile if a state of an apply needs an output that no state before it has produced', () => {
  const line = applyLine();
  // @ts-expect-error nothing is unpacked yet
  expect(line.state('validatingBundle', 'validateBundle', '')).toBeDefined();
  // @ts-expect-error what is not rendered cannot be reverted
  expect(line.state('downloading', 'download', '').onFault('revertingRelease')).toBeDefined();
  expect(line.state('downloading', 'download', '').state('next', 'verifySignatures', '')).toBeDefined();
});

it.each([tick, loop])('every ending of $id has an exit code', (machine) => {
  const endings = graphOf(machine).boxes.filter(({ kind }) => kind === 'ending');
  expect(endings.length).toBeGreaterThan(1);
  expect(endings.filter(({ exit }) => typeof exit !== 'number')).toEqual([]);
});
