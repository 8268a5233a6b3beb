import { type Box, type Edge, edgesOf, type Graph } from './graph.ts';

/** Positions of all elements of a picture in pixels; the states form a column in source order. */
export interface Layout {
  width: number;
  height: number;
  /** Position of the start marker. */
  start: Point;
  nodes: LayoutNode[];
  paths: EdgePath[];
  /** The endings that the outcome selects from; null when the machine has no such choice. */
  fanOut: FanOut | null;
}

export type Point = readonly [x: number, y: number];

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** One state. */
export interface LayoutNode extends Area {
  box: Box;
}

/** One edge and its line; the first label is at the given point, on the given side of it, the others below. */
export interface EdgePath {
  edge: Edge;
  points: Point[];
  label: { at: Point; side: Side };
}

/** Endings in a frame, grouped by exit code in one or more rows. */
export interface FanOut extends Area {
  edges: Edge[];
  groups: { exit: number; y: number }[];
  nodes: LayoutNode[];
}

/** Measures in pixels; the character widths fit wide fonts. */
export const measures = { pad: 18, node: 29, gap: 19, port: 17, track: 15, spine: 24, text: 14, corner: 7 };
const character = { name: 8.6, service: 6.9, label: 6.4 };
const { pad, gap } = measures;

interface Column {
  x: number;
  width: number;
  /** Where the tracks start on each side, outside the labels. */
  left: number;
  right: number;
  total: number;
}

/** Lays out a graph: edges to the next state run down the column, all others run beside it. */
export function layoutOf(graph: Graph): Layout {
  const edges = edgesOf(graph);
  const isFanned = ({ name }: Box) => edges.some(({ isFanOut, to }) => isFanOut && to === name);
  const boxes = graph.boxes.filter((box) => !isFanned(box));
  const isStep = ({ from, to }: Edge) => boxes.some(({ name }, row) => name === from && boxes[row + 1]?.name === to);
  const plain = edges.filter(({ isFanOut }) => !isFanOut);
  const [steps, others] = [plain.filter(isStep), plain.filter((edge) => !isStep(edge))];
  const lanes = lanesOf(others, boxes);
  const rows = rowsOf(boxes, lanes);
  const column = columnOf(rows, lanes);
  const nodes = nodesOf(rows, steps, column);
  const bottom = bottomOf(nodes.at(-1)!);
  const fanOut = fanOutOf(graph.boxes.filter(isFanned), {
    edges: edges.filter((edge) => edge.isFanOut),
    bottom,
    column,
  });
  const sideways = lanes.flatMap((lane) => lane.edges.map((edge) => sidePath(edge, lane, { rows, nodes, column })));
  return {
    width: column.total,
    height: (fanOut ? bottomOf(fanOut) : bottom) + pad,
    start: [column.x + measures.spine, pad],
    nodes,
    paths: [...steps.map((edge) => stepPath(edge, nodes)), ...sideways],
    fanOut,
  };
}

function columnOf(rows: Row[], lanes: Lane[]): Column {
  const widest = (widths: number[]) => Math.ceil(Math.max(0, ...widths));
  const room = (side: Side) =>
    measures.track * widest(lanes.filter((lane) => lane.side === side).map(({ track }) => track + 1));
  const labels = (side: Side) =>
    widest(
      rows.flatMap((row) => row[side].flatMap(({ edge }) => edge?.labels ?? [])).map((label) => widthOf(label) + 8),
    );
  const left = pad + room('left');
  const x = left + labels('left');
  const width =
    40 + widest(rows.map(({ box }) => box.name.length * character.name + sublabelOf(box).length * character.service));
  const right = x + width + labels('right');
  return { x, width, left, right, total: right + room('right') + pad };
}

/** Second text of a box: the service or the exit code. */
export function sublabelOf({ invokes, exit }: Box): string {
  return invokes ?? (exit === null ? '' : `exit ${exit}`);
}

function widthOf(label: string): number {
  return label.length * character.label;
}

function nodesOf(rows: Row[], steps: Edge[], { x, width }: Column): LayoutNode[] {
  let y = pad + gap;
  return rows.map(({ box, left, right }) => {
    const labels = steps.find(({ to }) => to === box.name)?.labels.length ?? 0;
    y += labels * measures.text;
    const height = Math.max(measures.node, ...[left, right].map((ports) => heightOf(ports) + 11));
    const node = { box, x, y, width, height };
    y += height + gap;
    return node;
  });
}

function stepPath(edge: Edge, nodes: LayoutNode[]): EdgePath {
  const [from, to] = [nodeOf(edge.from, nodes), nodeOf(edge.to, nodes)];
  const x = from.x + measures.spine;
  return {
    edge,
    points: [
      [x, bottomOf(from)],
      [x, to.y],
    ],
    label: { at: [x + 10, bottomOf(from) + measures.text], side: 'right' },
  };
}

interface ColumnLayout {
  rows: Row[];
  nodes: LayoutNode[];
  column: Column;
}

function sidePath(edge: Edge, lane: Lane, { rows, nodes, column }: ColumnLayout): EdgePath {
  const isLeft = lane.side === 'left';
  const outward = isLeft ? -1 : 1;
  const borderX = isLeft ? column.x : column.x + column.width;
  const track = column[lane.side] + outward * measures.track * (lane.track + 0.7);
  const portOf = (name: string, is: (port: Port) => boolean) => {
    const ports = rows.find(({ box }) => box.name === name)![lane.side];
    const before = ports.slice(0, ports.findIndex(is) + 1);
    const { y, height } = nodeOf(name, nodes);
    return y + (height - heightOf(ports)) / 2 + heightOf(before) - measures.port / 2;
  };
  const [out, into] = [portOf(edge.from, (port) => port.edge === edge), portOf(edge.to, (port) => port.edge === null)];
  return {
    edge,
    points: [
      [borderX, out],
      [track, out],
      [track, into],
      [borderX, into],
    ],
    label: { at: [borderX + outward * 7, out - 4 - measures.text * (edge.labels.length - 1)], side: lane.side },
  };
}

function fanOutOf(
  boxes: Box[],
  { edges, bottom, column }: { edges: Edge[]; bottom: number; column: Column },
): FanOut | null {
  if (boxes.length === 0) return null;
  const width = column.total - 2 * pad;
  const frame = { x: pad, y: bottom + gap + 4, width, height: 0 };
  const [indent, space, height] = [64, 7, 26];
  const nodes: LayoutNode[] = [];
  const groups: FanOut['groups'] = [];
  let y = frame.y + 12;
  const byExit = Map.groupBy(boxes, ({ exit }) => exit ?? 0);
  for (const [exit, own] of [...byExit].sort(([a], [b]) => a - b)) {
    let x = frame.x + indent;
    groups.push({ exit, y });
    for (const box of own) {
      const wide = Math.ceil(box.name.length * character.name) + 24;
      if (x + wide > frame.x + width - 8) [x, y] = [frame.x + indent, y + height + space];
      nodes.push({ box, x, y, width: wide, height });
      x += wide + space;
    }
    y += height + space + 5;
  }
  return { ...frame, height: y - frame.y, edges, groups, nodes };
}

/** Height of ports in pixels; each label line of an edge takes one port height. */
function heightOf(ports: Port[]): number {
  return ports.reduce((sum, { edge }) => sum + measures.port * Math.max(1, edge?.labels.length ?? 0), 0);
}

function nodeOf(name: string, nodes: LayoutNode[]): LayoutNode {
  return nodes.find(({ box }) => box.name === name)!;
}

function bottomOf({ y, height }: Area): number {
  return y + height;
}

type Side = 'left' | 'right';

/** All edges to one state on one side of the column; they share one vertical line. */
interface Lane {
  side: Side;
  to: string;
  edges: Edge[];
  /** First and last row that it passes. */
  from: number;
  until: number;
  /** Distance from the column in tracks; 0 is the nearest. */
  track: number;
}

/** A state with the ports on its sides, from top to bottom. */
interface Row {
  box: Box;
  left: Port[];
  right: Port[];
}

/** A point on the side of a state: an edge leaves it or, with a null edge, a lane reaches it. */
interface Port {
  lane: Lane;
  edge: Edge | null;
}

/** Assigns every edge to a lane: faults on the left, the others on the right, short lanes nearest. */
function lanesOf(edges: Edge[], boxes: Box[]): Lane[] {
  const rowOf = (name: string) => boxes.findIndex((box) => box.name === name);
  const sideOf = ({ fault }: Edge): Side => (fault ? 'left' : 'right');
  const shared = Map.groupBy(edges, (edge) => `${sideOf(edge)} ${edge.to}`);
  const lanes = [...shared.values()].map((own): Lane => {
    const [first] = own as [Edge];
    const ends = own.flatMap(({ from, to }) => [rowOf(from), rowOf(to)]);
    const [from, until] = [Math.min(...ends), Math.max(...ends)];
    return { side: sideOf(first), to: first.to, edges: own, from, until, track: 0 };
  });
  lanes.sort((a, b) => a.until - a.from - (b.until - b.from));
  for (const [index, lane] of lanes.entries()) lane.track = freeTrack(lane, lanes.slice(0, index));
  return lanes;
}

/** The rows of a picture. */
function rowsOf(boxes: Box[], lanes: Lane[]): Row[] {
  return boxes.map((box, index) => {
    const on = (side: Side) =>
      portsOf(
        box.name,
        index,
        lanes.filter((lane) => lane.side === side),
      );
    return { box, left: on('left'), right: on('right') };
  });
}

function freeTrack({ side, from, until }: Lane, placed: Lane[]): number {
  const beside = placed.filter((other) => other.side === side && other.from <= until && from <= other.until);
  const taken = new Set(beside.map(({ track }) => track));
  return [...taken, 0].map((_, track) => track).find((track) => !taken.has(track)) ?? 0;
}

/** Ports in an order with few crossings: lanes from above first, then outgoing edges, the outermost lane first. */
function portsOf(name: string, row: number, lanes: Lane[]): Port[] {
  const into = lanes.filter(({ to }) => to === name).map((lane): Port => ({ lane, edge: null }));
  const out = lanes
    .flatMap((lane) => lane.edges.filter(({ from }) => from === name).map((edge): Port => ({ lane, edge })))
    .sort((a, b) => b.lane.track - a.lane.track);
  return into.some(({ lane }) => lane.from < row) ? [...into, ...out] : [...out, ...into];
}
