import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { createMachine } from 'xstate';
import { apply } from '../apply.ts';
import { down } from '../down.ts';
import { loop } from '../loop.ts';
import { tick } from '../tick.ts';
import { dotOf } from './dot.ts';
import { graphOf } from './graph.ts';
import { layoutOf, type Area } from './layout.ts';
import { mermaidOf } from './mermaid.ts';
import { edgesOf } from './edges.ts';
import { svgOf } from './svg.ts';
import { textOf } from './text.ts';

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

it('converts the states of a machine to boxes', () => {
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

it('converts the transitions of a machine to arrows', () => {
  const arrows = graphOf(lamp).arrows.map(({ from, on, guard, actions, to, fault }) => [
    from,
    on,
    guard,
    actions,
    to,
    fault,
  ]);
  expect(arrows).toEqual([
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

it('joins parallel arrows to one edge and omits labels that the picture implies', () => {
  const edgesFrom = (machine: Parameters<typeof graphOf>[0], from: string) =>
    edgesOf(graphOf(machine))
      .filter((edge) => edge.from === from)
      .map(({ to, labels, fault, isFanOut }) => [to, labels.join(' or '), fault, isFanOut]);
  expect(edgesFrom(lamp, 'lighting')).toEqual([
    ['glowing', '', false, false],
    ['judging', '', true, false],
  ]);
  expect(edgesFrom(lamp, 'glowing')).toEqual([
    ['glowing', 'STOP', false, false],
    ['judging', 'after evening', false, false],
  ]);
  expect(edgesFrom(tick, 'selectingCredential')[0]).toEqual([
    'bootstrapping',
    'wantsBootstrapOnly or hasGrant',
    false,
    false,
  ]);
  expect(edgesFrom(tick, 'selectingEnding')[0]).toEqual(['applied', '', false, true]);
});

describe.each([tick, apply, down, loop].map((machine) => ({ id: machine.id, graph: graphOf(machine) })))(
  'the pictures of $id',
  ({ graph }) => {
    const layout = layoutOf(graph);
    const nodes = [...layout.nodes, ...(layout.fanOut?.nodes ?? [])];

    it('show every state once, inside the picture and without overlap', () => {
      expect(nodes.map(({ box }) => box.name).sort()).toEqual(graph.boxes.map(({ name }) => name).sort());
      const page = { x: 0, y: 0, width: layout.width, height: layout.height };
      expect(nodes.filter((node) => !isInside(node, page))).toEqual([]);
      expect(nodes.filter((one) => nodes.some((other) => one !== other && overlap(one, other)))).toEqual([]);
    });

    it('show every edge, from the border of one state to the border of the other and through no third', () => {
      const fanOutEdges = layout.fanOut?.edges ?? [];
      const drawn = [...layout.paths.map(({ edge }) => edge), ...fanOutEdges].map(({ from, to }) => `${from} ${to}`);
      expect(drawn.sort()).toEqual(
        edgesOf(graph)
          .map(({ from, to }) => `${from} ${to}`)
          .sort(),
      );
      for (const { edge, points } of layout.paths) {
        const touched = nodes.filter((node) => segmentsOf(points).some((segment) => overlap(segment, node)));
        expect(touched.map(({ box }) => box.name).sort()).toEqual([...new Set([edge.from, edge.to])].sort());
      }
    });

    it('give every state and edge an id, and name every state in the text alternative', () => {
      const svg = svgOf(graph);
      const ids = [...svg.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(graph.boxes.map(({ name }) => `${graph.id}.${name}`)));
      expect(ids).toEqual(
        expect.arrayContaining(layout.paths.map(({ edge }) => `${graph.id}.${edge.from}.${edge.to}`)),
      );
      const description = /<desc id="[^"]+">(.*)<\/desc>/.exec(svg)?.[1];
      for (const { name } of graph.boxes) expect(description).toContain(name);
    });

    it('can be drawn by Graphviz', async () => {
      const svg = (await Graphviz.load()).dot(dotOf(graph));
      expect(svg.match(/class="node"/g)).toHaveLength(graph.boxes.length + 1);
      expect(svg.match(/class="edge"/g)).toHaveLength(edgesOf(graph).length + 1);
    });

    it('list every state and ending as text', () => {
      const lines = textOf(graph)
        .split('\n')
        .map((line) => line.trim().split('  ')[0]);
      expect(lines).toEqual(expect.arrayContaining(graph.boxes.map(({ name }) => name)));
    });
  },
);

it('prints a graph as text', () => {
  expect(textOf(graphOf(lamp)).split('\n')).toEqual([
    'machine lamp',
    '',
    '  lighting  ⚙ light',
    '    Lights it.',
    '    → glowing',
    '    → judging  (failed)',
    '',
    '  glowing',
    '    → glowing  (STOP)',
    '    → judging  (after evening)',
    '',
    '  judging',
    '    → dark  (is late)',
    '    → lit',
    '',
    'STOP, wherever it is: note',
    '',
    'endings',
    '  lit   exit 0   ',
    '  dark  exit 75  ',
  ]);
});

function isInside(one: Area, other: Area): boolean {
  const { x, y, width, height } = one;
  return x >= other.x && y >= other.y && x + width <= other.x + other.width && y + height <= other.y + other.height;
}

/** True when two areas share a point, borders included. */
function overlap(one: Area, other: Area): boolean {
  const across = one.x <= other.x + other.width && other.x <= one.x + one.width;
  return across && one.y <= other.y + other.height && other.y <= one.y + one.height;
}

/** The straight segments of a path. */
function segmentsOf(points: readonly (readonly [number, number])[]): Area[] {
  return points.slice(1).map(([x, y], n) => {
    const [fromX, fromY] = points[n]!;
    return { x: Math.min(x, fromX), y: Math.min(y, fromY), width: Math.abs(x - fromX), height: Math.abs(y - fromY) };
  });
}
