import type { Box } from './graph.ts';
import type { Edge } from './edges.ts';

export type Side = 'left' | 'right';

/** All edges to one state on one side of the column; they share one vertical line. */
export interface Lane {
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
export interface Row {
  box: Box;
  left: Port[];
  right: Port[];
}

/** A point on the side of a state: an edge leaves it or, with a null edge, a lane reaches it. */
export interface Port {
  lane: Lane;
  edge: Edge | null;
}

/** Assigns every edge to a lane: faults on the left, the others on the right, short lanes nearest. */
export function lanesOf(edges: Edge[], boxes: Box[]): Lane[] {
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
export function rowsOf(boxes: Box[], lanes: Lane[]): Row[] {
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
