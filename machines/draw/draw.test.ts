import { readFileSync } from 'node:fs';
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { createMachine } from 'xstate';
import { current, page, pictures } from '../../fixtures/docs.ts';
import { apply } from '../apply.ts';
import { down } from '../down.ts';
import { loop } from '../loop.ts';
import { tick } from '../tick.ts';
import { dotOf } from './dot.ts';
import { graphOf } from './graph.ts';
import { layoutOf, type Area } from './layout.ts';
import { mermaidOf } from './mermaid.ts';
import { roadsOf } from './roads.ts';
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

it('joins parallel arrows to one road, and says beside it only what the picture does not show', () => {
  const told = (machine: Parameters<typeof graphOf>[0], from: string) =>
    roadsOf(graphOf(machine))
      .filter((road) => road.from === from)
      .map(({ to, labels, fault, fan }) => [to, labels.join(' or '), fault, fan]);
  expect(told(lamp, 'lighting')).toEqual([
    ['glowing', '', false, false],
    ['judging', '', true, false],
  ]);
  expect(told(lamp, 'glowing')).toEqual([
    ['glowing', 'STOP', false, false],
    ['judging', 'after evening', false, false],
  ]);
  expect(told(tick, 'token')[0]).toEqual(['bootstrapping', 'wantsGrantOnly or grantPresent', false, false]);
  expect(told(tick, 'settled')[0]).toEqual(['applied', '', false, true]);
});

describe.each([tick, apply, down, loop].map((machine) => ({ id: machine.id, graph: graphOf(machine) })))(
  'the pictures of $id',
  ({ graph }) => {
    const layout = layoutOf(graph);
    const stations = [...layout.stations, ...(layout.fan?.stations ?? [])];

    it('have every state once, in the picture and apart from the others', () => {
      expect(stations.map(({ box }) => box.name).sort()).toEqual(graph.boxes.map(({ name }) => name).sort());
      const page = { x: 0, y: 0, width: layout.width, height: layout.height };
      expect(stations.filter((station) => !isInside(station, page))).toEqual([]);
      expect(stations.filter((one) => stations.some((other) => one !== other && overlap(one, other)))).toEqual([]);
    });

    it('have every road, from the edge of one state to the edge of the other, and through no third', () => {
      const fan = layout.fan?.roads ?? [];
      const drawn = [...layout.lines.map(({ road }) => road), ...fan].map(({ from, to }) => `${from} ${to}`);
      expect(drawn.sort()).toEqual(
        roadsOf(graph)
          .map(({ from, to }) => `${from} ${to}`)
          .sort(),
      );
      for (const { road, points } of layout.lines) {
        const touched = stations.filter((station) => pieces(points).some((piece) => overlap(piece, station)));
        expect(touched.map(({ box }) => box.name).sort()).toEqual([...new Set([road.from, road.to])].sort());
      }
    });

    it('name every state and road for those who light them up, and say the picture in words', () => {
      const svg = svgOf(graph);
      const ids = [...svg.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(graph.boxes.map(({ name }) => `${graph.id}.${name}`)));
      expect(ids).toEqual(
        expect.arrayContaining(layout.lines.map(({ road }) => `${graph.id}.${road.from}.${road.to}`)),
      );
      const description = /<desc id="[^"]+">(.*)<\/desc>/.exec(svg)?.[1];
      for (const { name } of graph.boxes) expect(description).toContain(name);
    });

    it('are drawn by Graphviz too', async () => {
      const svg = (await Graphviz.load()).dot(dotOf(graph));
      expect(svg.match(/class="node"/g)).toHaveLength(graph.boxes.length + 1);
      expect(svg.match(/class="edge"/g)).toHaveLength(roadsOf(graph).length + 1);
    });

    it('tell every state and ending as text', () => {
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

it.each(Object.entries(pictures()))('%s is current: run npm run docs', (file, svg) => {
  expect(readFileSync(file, 'utf8')).toBe(svg);
});

it(`${page} is current: run npm run docs`, () => {
  const text = readFileSync(page, 'utf8');
  expect(current(text)).toBe(text);
});

function isInside(one: Area, other: Area): boolean {
  const { x, y, width, height } = one;
  return x >= other.x && y >= other.y && x + width <= other.x + other.width && y + height <= other.y + other.height;
}

/** Whether two areas share a point, their edges included. */
function overlap(one: Area, other: Area): boolean {
  const across = one.x <= other.x + other.width && other.x <= one.x + one.width;
  return across && one.y <= other.y + other.height && other.y <= one.y + one.height;
}

/** The straight pieces of a road. */
function pieces(points: readonly (readonly [number, number])[]): Area[] {
  return points.slice(1).map(([x, y], n) => {
    const [fromX, fromY] = points[n]!;
    return { x: Math.min(x, fromX), y: Math.min(y, fromY), width: Math.abs(x - fromX), height: Math.abs(y - fromY) };
  });
}
