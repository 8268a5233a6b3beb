import type { Box, Graph } from './graph.ts';
import { lanesOf, rowsOf, type Lane, type Row, type Side, type Stub } from './lanes.ts';
import { roadsOf, type Road } from './roads.ts';

/** Where everything of a picture stands, in pixels: the states down a column, in the order in which they are written. */
export interface Layout {
  width: number;
  height: number;
  /** Where the first state is reached from. */
  start: Point;
  stations: Station[];
  lines: Line[];
  /** The endings of which the outcome chooses one; null where the machine has no such choice. */
  fan: Fan | null;
}

export type Point = readonly [x: number, y: number];

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** One state. */
export interface Station extends Area {
  box: Box;
}

/** One road and its course; its labels stand below each other, the first at the given point, to the given side of it. */
export interface Line {
  road: Road;
  points: Point[];
  label: { at: Point; side: Side };
}

/** Endings in a frame, a row or more for each exit code. */
export interface Fan extends Area {
  roads: Road[];
  groups: { exit: number; y: number }[];
  stations: Station[];
}

/** Measures of a picture; a character's width leaves room for a generous font. */
export const measures = { pad: 18, station: 29, gap: 19, port: 17, track: 15, spine: 24, text: 14, corner: 7 };
const character = { name: 8.6, service: 6.9, label: 6.4 };
const { pad, gap } = measures;

interface Column {
  x: number;
  width: number;
  /** Where the tracks begin on either side: beyond the labels. */
  left: number;
  right: number;
  total: number;
}

/** Lays a machine out: the step to the next state runs down the column, every other road beside it. */
export function layoutOf(graph: Graph): Layout {
  const roads = roadsOf(graph);
  const isFanned = ({ name }: Box) => roads.some(({ fan, to }) => fan && to === name);
  const boxes = graph.boxes.filter((box) => !isFanned(box));
  const isStep = ({ from, to }: Road) => boxes.some(({ name }, row) => name === from && boxes[row + 1]?.name === to);
  const plain = roads.filter(({ fan }) => !fan);
  const [steps, others] = [plain.filter(isStep), plain.filter((road) => !isStep(road))];
  const lanes = lanesOf(others, boxes);
  const rows = rowsOf(boxes, lanes);
  const column = columnOf(rows, lanes);
  const stations = stationsOf(rows, steps, column);
  const bottom = bottomOf(stations.at(-1)!);
  const fan = fanOf(graph.boxes.filter(isFanned), { roads: roads.filter((road) => road.fan), bottom, column });
  const sideways = lanes.flatMap((lane) => lane.roads.map((road) => sideLine(road, lane, { rows, stations, column })));
  return {
    width: column.total,
    height: (fan ? bottomOf(fan) : bottom) + pad,
    start: [column.x + measures.spine, pad],
    stations,
    lines: [...steps.map((road) => stepLine(road, stations)), ...sideways],
    fan,
  };
}

function columnOf(rows: Row[], lanes: Lane[]): Column {
  const widest = (widths: number[]) => Math.ceil(Math.max(0, ...widths));
  const room = (side: Side) =>
    measures.track * widest(lanes.filter((lane) => lane.side === side).map(({ track }) => track + 1));
  const labels = (side: Side) =>
    widest(
      rows.flatMap((row) => row[side].flatMap(({ road }) => road?.labels ?? [])).map((label) => widthOf(label) + 8),
    );
  const left = pad + room('left');
  const x = left + labels('left');
  const width =
    40 + widest(rows.map(({ box }) => box.name.length * character.name + asideOf(box).length * character.service));
  const right = x + width + labels('right');
  return { x, width, left, right, total: right + room('right') + pad };
}

/** What stands in a box beside the name. */
export function asideOf({ invokes, exit }: Box): string {
  return invokes ?? (exit === null ? '' : `exit ${exit}`);
}

function widthOf(label: string): number {
  return label.length * character.label;
}

function stationsOf(rows: Row[], steps: Road[], { x, width }: Column): Station[] {
  let y = pad + gap;
  return rows.map(({ box, left, right }) => {
    const labels = steps.find(({ to }) => to === box.name)?.labels.length ?? 0;
    y += labels * measures.text;
    const height = Math.max(measures.station, ...[left, right].map((stubs) => heightOf(stubs) + 11));
    const station = { box, x, y, width, height };
    y += height + gap;
    return station;
  });
}

function stepLine(road: Road, stations: Station[]): Line {
  const [from, to] = [stationOf(road.from, stations), stationOf(road.to, stations)];
  const x = from.x + measures.spine;
  return {
    road,
    points: [
      [x, bottomOf(from)],
      [x, to.y],
    ],
    label: { at: [x + 10, bottomOf(from) + measures.text], side: 'right' },
  };
}

interface Place {
  rows: Row[];
  stations: Station[];
  column: Column;
}

function sideLine(road: Road, lane: Lane, { rows, stations, column }: Place): Line {
  const isLeft = lane.side === 'left';
  const outward = isLeft ? -1 : 1;
  const edge = isLeft ? column.x : column.x + column.width;
  const track = column[lane.side] + outward * measures.track * (lane.track + 0.7);
  const portOf = (name: string, is: (stub: Stub) => boolean) => {
    const stubs = rows.find(({ box }) => box.name === name)![lane.side];
    const before = stubs.slice(0, stubs.findIndex(is) + 1);
    const { y, height } = stationOf(name, stations);
    return y + (height - heightOf(stubs)) / 2 + heightOf(before) - measures.port / 2;
  };
  const [out, into] = [
    portOf(road.from, (stub) => stub.road === road),
    portOf(road.to, (stub) => stub.lane === lane && stub.road === null),
  ];
  return {
    road,
    points: [
      [edge, out],
      [track, out],
      [track, into],
      [edge, into],
    ],
    label: { at: [edge + outward * 7, out - 4 - measures.text * (road.labels.length - 1)], side: lane.side },
  };
}

function fanOf(boxes: Box[], { roads, bottom, column }: { roads: Road[]; bottom: number; column: Column }): Fan | null {
  if (boxes.length === 0) return null;
  const width = column.total - 2 * pad;
  const frame = { x: pad, y: bottom + gap + 4, width, height: 0 };
  const [indent, space, height] = [64, 7, 26];
  const stations: Station[] = [];
  const groups: Fan['groups'] = [];
  let y = frame.y + 12;
  const byExit = Map.groupBy(boxes, ({ exit }) => exit ?? 0);
  for (const [exit, own] of [...byExit].sort(([a], [b]) => a - b)) {
    let x = frame.x + indent;
    groups.push({ exit, y });
    for (const box of own) {
      const wide = Math.ceil(box.name.length * character.name) + 24;
      if (x + wide > frame.x + width - 8) [x, y] = [frame.x + indent, y + height + space];
      stations.push({ box, x, y, width: wide, height });
      x += wide + space;
    }
    y += height + space + 5;
  }
  return { ...frame, height: y - frame.y, roads, groups, stations };
}

/** A road whose label has several lines needs as much more room. */
function heightOf(stubs: Stub[]): number {
  return stubs.reduce((sum, { road }) => sum + measures.port * Math.max(1, road?.labels.length ?? 0), 0);
}

function stationOf(name: string, stations: Station[]): Station {
  return stations.find(({ box }) => box.name === name)!;
}

function bottomOf({ y, height }: Area): number {
  return y + height;
}
