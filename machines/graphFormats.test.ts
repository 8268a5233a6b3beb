import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { loop } from './loop.ts';
import { tick } from './tick.ts';
import { dotOf, svgOf, textOf } from './graphFormats.ts';
import { edgesOf, graphOf } from './graph.ts';
import { type Area, layoutOf } from './graphLayout.ts';

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
