import { readFileSync } from 'node:fs';
import { createMachine } from 'xstate';
import { current, page } from '../../fixtures/docs.ts';
import { graphOf } from './graph.ts';
import { mermaidOf } from './mermaid.ts';

const lamp = createMachine({
  id: 'lamp',
  initial: 'lighting',
  on: { STOP: { actions: 'note' } },
  states: {
    lighting: {
      description: 'Lights it.',
      entry: 'greet',
      invoke: { id: 'light', src: 'light', onDone: { target: 'glowing', actions: 'note' }, onError: 'judging' },
    },
    glowing: { after: { evening: 'judging' }, on: { STOP: { actions: ['note', 'greet'] } } },
    judging: { always: [{ guard: { type: 'is', params: 'late' }, target: 'dark', description: 'no light' }, 'lit'] },
    lit: { type: 'final', meta: { exit: 0, report: 'lit' } },
    dark: { type: 'final', meta: { exit: 75 } },
  },
});

it('walks a machine into boxes', () => {
  const { id, initial, boxes, anywhere } = graphOf(lamp);
  expect([id, initial, anywhere]).toEqual(['lamp', 'lighting', [{ on: 'STOP', actions: ['note'] }]]);
  expect(boxes.map(({ name, kind, invokes, exit }) => [name, kind, invokes, exit])).toEqual([
    ['lighting', 'working', 'light', null],
    ['glowing', 'waiting', null, null],
    ['judging', 'passing', null, null],
    ['lit', 'ending', null, 0],
    ['dark', 'ending', null, 75],
  ]);
  expect(boxes[0]).toMatchObject({ description: 'Lights it.', entry: ['greet'], report: null });
});

it('walks a machine into arrows', () => {
  const told = graphOf(lamp).arrows.map(({ from, on, guard, actions, to, fault }) => [
    from,
    on,
    guard,
    actions,
    to,
    fault,
  ]);
  expect(told).toEqual([
    ['lighting', 'light done', null, ['note'], 'glowing', false],
    ['lighting', 'light failed', null, [], 'judging', true],
    ['glowing', 'STOP', null, ['note', 'greet'], 'glowing', false],
    ['glowing', 'after evening', null, [], 'judging', false],
    ['judging', '', 'is late', [], 'dark', false],
    ['judging', '', null, [], 'lit', false],
  ]);
});

it('prints a graph as a Mermaid diagram', () => {
  expect(
    mermaidOf(graphOf(lamp))
      .split('\n')
      .map((line) => line.trim()),
  ).toEqual(
    expect.arrayContaining([
      'stateDiagram-v2',
      'state "lighting\\n⚙ light" as lighting',
      'state "dark\\nexit 75" as dark',
      '[*] --> lighting',
      'lighting --> judging: light failed',
      'judging --> dark: [is late]',
      'judging --> lit',
      'class dark later',
      'class lit good',
    ]),
  );
});

it(`${page} is current: run npm run docs`, () => {
  const text = readFileSync(page, 'utf8');
  expect(current(text)).toBe(text);
});
