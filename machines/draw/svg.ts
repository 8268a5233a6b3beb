import type { Graph } from './graph.ts';
import { asideOf, layoutOf, measures, type Fan, type Layout, type Line, type Point, type Station } from './layout.ts';
import { verdictOf, type Road } from './roads.ts';
import { style } from './style.ts';

/** A graph as a complete SVG file with light and dark colours of its own; no program is needed to draw it. */
export function svgOf(graph: Graph): string {
  return drawn(graph, `<style>${style}</style>\n`);
}

/** The same for a page that brings the colours: no style in it, and ids `<machine>.<state>`, `<machine>.<from>.<to>`. */
export function drawingOf(graph: Graph): string {
  return drawn(graph, '');
}

function drawn(graph: Graph, colours: string): string {
  const layout = layoutOf(graph);
  const { width, height, start, stations, lines, fan } = layout;
  const idOf = (...names: string[]) => [graph.id, ...names].join('.');
  const begin: Point = [start[0], stations[0]!.y];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="machine" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${idOf('title')} ${idOf('desc')}">`,
    `<title id="${idOf('title')}">The machine ${graph.id}</title>`,
    `<desc id="${idOf('desc')}">${escaped(toldOf(graph))}</desc>`,
    `${colours}<rect class="ground" width="${width}" height="${height}" rx="12"/>`,
    `<circle class="start" cx="${start[0]}" cy="${start[1]}" r="5"/>`,
    roadText({ id: idOf('start'), fault: false }, [start, begin]),
    ...lines.map((line) => lineText(line, idOf(line.road.from, line.road.to))),
    ...stations.map((station) => stationText(station, idOf(station.box.name))),
    ...(fan ? fanText(fan, layout, idOf) : []),
    '</svg>\n',
  ].join('\n');
}

/** The picture for those who do not see it. */
function toldOf({ initial, boxes }: Graph): string {
  const names = (ending: boolean) =>
    boxes
      .filter(({ exit }) => (exit !== null) === ending)
      .map(({ name, exit }) => (exit === null ? name : `${name} (exit ${exit})`))
      .join(', ');
  const ends = names(true);
  return `It begins in ${initial}. States: ${names(false)}.${ends ? ` Endings: ${ends}.` : ''}`;
}

function lineText({ road, points, label }: Line, id: string): string {
  const [x, y] = label.at;
  const anchor = label.side === 'left' ? ' text-anchor="end"' : '';
  const lines = road.labels.map((line, n) => (n < road.labels.length - 1 ? `${line} or` : line));
  const texts = lines.map(
    (line, n) => `<text class="label"${anchor} x="${x}" y="${y + n * measures.text}">${line}</text>`,
  );
  return [roadText({ id, fault: road.fault }, points), ...texts].join('');
}

function roadText({ id, fault }: Pick<Road, 'fault'> & { id: string }, points: Point[]): string {
  const course = `<path d="${courseOf(points.toReversed())}"/><path class="head" d="${headOf(points)}"/>`;
  return `<g id="${id}" class="road${fault ? ' fault' : ''}">${course}</g>`;
}

/** Straight pieces with rounded corners; drawn from their common end, the dashes of joined roads fall on each other. */
function courseOf(points: Point[]): string {
  return points
    .map((point, n) => {
      const [before, after] = [points[n - 1], points[n + 1]];
      if (!before) return `M${point.join(' ')}`;
      if (!after) return `L${point.join(' ')}`;
      return `L${toward(point, before).join(' ')} Q${point.join(' ')} ${toward(point, after).join(' ')}`;
    })
    .join(' ');
}

function toward([x, y]: Point, [toX, toY]: Point): Point {
  const length = Math.hypot(toX - x, toY - y);
  const step = Math.min(measures.corner, length / 2) / (length || 1);
  return [round(x + (toX - x) * step), round(y + (toY - y) * step)];
}

/** The arrow's head at the end of its course. */
function headOf(points: Point[]): string {
  const [[fromX, fromY], [x, y]] = points.slice(-2) as [Point, Point];
  const [dx, dy] = [Math.sign(x - fromX), Math.sign(y - fromY)];
  const [backX, backY] = [x - 8 * dx, y - 8 * dy];
  return `M${x} ${y} L${backX - 4 * dy} ${backY - 4 * dx} L${backX + 4 * dy} ${backY + 4 * dx} Z`;
}

function stationText({ box, x, y, width, height }: Station, id: string, aside = asideOf(box)): string {
  const { name, kind, description } = box;
  const middle = y + height / 2 + 4.5;
  return [
    `<g id="${id}" class="${['state', kind, verdictOf(box)].filter(Boolean).join(' ')}">`,
    description === null ? '' : `<title>${escaped(description)}</title>`,
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${kind === 'passing' ? 15 : 6}"/>`,
    `<text class="name" x="${x + 12}" y="${middle}">${name}</text>`,
    aside && `<text class="service" text-anchor="end" x="${x + width - 12}" y="${middle}">${aside}</text>`,
    '</g>',
  ].join('');
}

function fanText({ x, y, width, height, roads, groups, stations }: Fan, layout: Layout, idOf: IdOf): string[] {
  const from = layout.stations.find(({ box }) => box.name === roads[0]!.from)!;
  const spine = layout.start[0];
  return [
    `<rect class="frame" x="${x}" y="${y}" width="${width}" height="${height}" rx="9"/>`,
    roadText({ id: idOf(from.box.name, 'ending'), fault: false }, [
      [spine, from.y + from.height],
      [spine, y],
    ]),
    ...groups.map((group) => `<text class="label" x="${x + 12}" y="${group.y + 17}">exit ${group.exit}</text>`),
    ...stations.map((station) => stationText(station, idOf(station.box.name), '')),
  ];
}

type IdOf = (...names: string[]) => string;

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
