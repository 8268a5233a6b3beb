import type { Box } from './graph.ts';
import type { Road } from './roads.ts';

export type Side = 'left' | 'right';

/** All roads to one state on one side of the column: they join on their way. */
export interface Lane {
  side: Side;
  to: string;
  roads: Road[];
  /** The rows between which it runs. */
  from: number;
  until: number;
  /** Its place beside the column, 0 is the nearest. */
  track: number;
}

/** A state with everything that leaves or reaches its sides, from top to bottom. */
export interface Row {
  box: Box;
  left: Stub[];
  right: Stub[];
}

/** Where a road leaves the side of a state; where a lane reaches it, there is no road. */
export interface Stub {
  lane: Lane;
  road: Road | null;
}

/** Gives every road its lane, faults on the left and the rest on the right, short lanes inside. */
export function lanesOf(roads: Road[], boxes: Box[]): Lane[] {
  const rowOf = (name: string) => boxes.findIndex((box) => box.name === name);
  const sideOf = ({ fault }: Road): Side => (fault ? 'left' : 'right');
  const shared = Map.groupBy(roads, (road) => `${sideOf(road)} ${road.to}`);
  const lanes = [...shared.values()].map((own): Lane => {
    const [first] = own as [Road];
    const ends = own.flatMap(({ from, to }) => [rowOf(from), rowOf(to)]);
    const [from, until] = [Math.min(...ends), Math.max(...ends)];
    return { side: sideOf(first), to: first.to, roads: own, from, until, track: 0 };
  });
  lanes.sort((a, b) => a.until - a.from - (b.until - b.from));
  for (const [index, lane] of lanes.entries()) lane.track = freeTrack(lane, lanes.slice(0, index));
  return lanes;
}

/** The rows of a picture. */
export function rowsOf(boxes: Box[], lanes: Lane[]): Row[] {
  return boxes.map((box, index) => {
    const on = (side: Side) =>
      stubsOf(
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

/** In an order that lets few lines cross: what comes from above, then the way out with the outermost lane first. */
function stubsOf(name: string, row: number, lanes: Lane[]): Stub[] {
  const into = lanes.filter(({ to }) => to === name).map((lane): Stub => ({ lane, road: null }));
  const out = lanes
    .flatMap((lane) => lane.roads.filter(({ from }) => from === name).map((road): Stub => ({ lane, road })))
    .sort((a, b) => b.lane.track - a.lane.track);
  return into.some(({ lane }) => lane.from < row) ? [...into, ...out] : [...out, ...into];
}
