import { type Arrow, type Box, type Edge, edgesOf, exitClassOf, type Graph, guardNamesTarget } from './graph.ts';
import {
  type EdgePath,
  type FanOut,
  type Layout,
  type LayoutNode,
  layoutOf,
  measures,
  type Point,
  sublabelOf,
} from './graphLayout.ts';

/** A graph as text for a terminal: states with description and edges, endings with exit codes. */
export function textOf(graph: Graph): string {
  const edges = edgesOf(graph);
  const isEnding = ({ exit }: Box) => exit !== null;
  const states = graph.boxes.filter((box) => !isEnding(box)).map((box) => formatState(box, edges));
  const anywhere = graph.anywhere.map(({ on, actions }) => `${on}, wherever it is: ${actions.join(', ')}`);
  const endings = graph.boxes.filter(isEnding);
  return [`machine ${graph.id}`, ...states, ...anywhere, ...(endings.length > 0 ? [formatEndings(endings)] : [])].join(
    '\n\n',
  );
}

function formatState({ name, invokes, description }: Box, edges: Edge[]): string {
  const own = edges.filter(({ from }) => from === name);
  const plain = own.filter(({ isFanOut }) => !isFanOut).map((edge) => `    ${formatEdge(edge)}`);
  const fanOut = own.some((edge) => edge.isFanOut) ? ['    → the ending of the outcome'] : [];
  const lines = description === null ? [] : [`    ${description}`];
  return [`  ${name}${invokes === null ? '' : `  ⚙ ${invokes}`}`, ...lines, ...plain, ...fanOut].join('\n');
}

function formatEdge({ to, labels, fault }: Edge): string {
  const when = [...(fault ? ['failed'] : []), ...(labels.length > 0 ? [labels.join(' or ')] : [])].join(', ');
  return `→ ${to}${when && `  (${when})`}`;
}

function formatEndings(endings: Box[]): string {
  const width = Math.max(...endings.map(({ name }) => name.length));
  const lines = endings.map(
    ({ name, exit, description }) => `  ${name.padEnd(width)}  exit ${String(exit).padEnd(2)}  ${description ?? ''}`,
  );
  return ['endings', ...lines].join('\n');
}

const dotColours = {
  good: { fillcolor: '#e6f4ea', color: '#1e7d34' },
  later: { fillcolor: '#fff4d6', color: '#9a6b00' },
  bad: { fillcolor: '#fde7e7', color: '#b3261e' },
};

/** A graph as Graphviz text for `dot -Tsvg`. Fault edges are dashed red, endings have a double border. */
export function dotOf(graph: Graph): string {
  const font = { fontname: 'Helvetica,Arial,sans-serif' };
  const start = { shape: 'point', width: '0.15' };
  const lines = [
    `graph${formatAttributes({ ...font, nodesep: '0.3', ranksep: '0.4' })}`,
    `node${formatAttributes({ ...font, shape: 'box', style: 'rounded,filled', fillcolor: '#eef2f7', color: '#4a5a6a' })}`,
    `edge${formatAttributes({ ...font, fontsize: '11', color: '#4a5a6a' })}`,
    `"●"${formatAttributes(start)}`,
    ...graph.boxes.map((box) => `"${box.name}"${formatAttributes(nodeAttributesOf(box))}`),
    `"●" -> "${graph.initial}"`,
    ...edgesOf(graph).map((edge) => `"${edge.from}" -> "${edge.to}"${formatAttributes(edgeAttributesOf(edge))}`),
  ];
  return [`digraph "${graph.id}" {`, ...lines.map((line) => `  ${line}`), '}'].join('\n');
}

function nodeAttributesOf(box: Box): Record<string, string> {
  const exitClass = exitClassOf(box);
  return {
    label: captionOf(box),
    ...(box.description !== null && { tooltip: box.description }),
    ...(box.kind === 'ending' && { peripheries: '2' }),
    ...(exitClass && dotColours[exitClass]),
  };
}

function edgeAttributesOf({ labels, fault }: Edge): Record<string, string> {
  return {
    ...(labels.length > 0 && { label: labels.join('\\n') }),
    ...(fault && { style: 'dashed', color: '#b3261e', fontcolor: '#b3261e' }),
  };
}

function formatAttributes(all: Record<string, string>): string {
  const pairs = Object.entries(all).map(([name, value]) => `${name}="${value.replaceAll('"', '\\"')}"`);
  return pairs.length > 0 ? ` [${pairs.join(', ')}]` : '';
}

const mermaidColours = {
  good: 'fill:#e6f4ea,stroke:#1e7d34,color:#12351b',
  later: 'fill:#fff4d6,stroke:#9a6b00,color:#3d2b00',
  bad: 'fill:#fde7e7,stroke:#b3261e,color:#410e0b',
};

/** A graph as a Mermaid state diagram: services are marked ⚙, parallel arrows joined, endings coloured by exit code. */
export function mermaidOf({ initial, boxes, arrows }: Graph): string {
  const parallel = Map.groupBy(arrows, ({ from, to }) => `${from} --> ${to}`);
  const lines = [
    ...boxes.map((box) => `state "${captionOf(box)}" as ${box.name}`),
    `[*] --> ${initial}`,
    ...[...parallel].map(([arrow, same]) => [arrow, labelOf(same)].filter(Boolean).join(': ')),
    ...[...Map.groupBy(boxes, exitClassOf)].flatMap(([name, own]) => (name === null ? [] : classLines(name, own))),
  ];
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`)].join('\n');
}

/** Label of a box for Mermaid and Graphviz. */
function captionOf({ name, invokes, exit }: Box): string {
  if (invokes !== null) return `${name}\\n⚙ ${invokes}`;
  return exit === null ? name : `${name}\\nexit ${exit}`;
}

/** Label of parallel arrows, without guards that only repeat their target. */
function labelOf(same: Arrow[]): string {
  const labels = same.map((arrow) => {
    const guard = arrow.guard === null || guardNamesTarget(arrow) ? '' : `[${arrow.guard}]`;
    return [arrow.on, guard].filter(Boolean).join(' ');
  });
  return labels.filter(Boolean).join('\\n');
}

function classLines(name: keyof typeof mermaidColours, boxes: Box[]): string[] {
  return [`classDef ${name} ${mermaidColours[name]}`, `class ${boxes.map((box) => box.name).join(',')} ${name}`];
}

/** A graph as a standalone SVG file with light and dark colours. */
export function svgOf(graph: Graph): string {
  return renderSvg(graph, `<style>${stylesheet}</style>\n`);
}

/** A graph as an SVG without styles for a page that has them; ids are `<machine>.<state>` and `<machine>.<from>.<to>`. */
export function inlineSvgOf(graph: Graph): string {
  return renderSvg(graph, '');
}

function renderSvg(graph: Graph, colours: string): string {
  const layout = layoutOf(graph);
  const { width, height, start, nodes, paths, fanOut } = layout;
  const idOf = (...names: string[]) => [graph.id, ...names].join('.');
  const firstNode: Point = [start[0], nodes[0]!.y];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="machine" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${idOf('title')} ${idOf('desc')}">`,
    `<title id="${idOf('title')}">The machine ${graph.id}</title>`,
    `<desc id="${idOf('desc')}">${escapeXml(formatAltText(graph))}</desc>`,
    `${colours}<rect class="ground" width="${width}" height="${height}" rx="12"/>`,
    `<circle class="start" cx="${start[0]}" cy="${start[1]}" r="5"/>`,
    formatPath({ id: idOf('start'), fault: false }, [start, firstNode]),
    ...paths.map((path) => drawEdge(path, idOf(path.edge.from, path.edge.to))),
    ...nodes.map((node) => formatNode(node, idOf(node.box.name))),
    ...(fanOut ? formatFanOut(fanOut, layout, idOf) : []),
    '</svg>\n',
  ].join('\n');
}

/** Text alternative of the picture for screen readers. */
function formatAltText({ initial, boxes }: Graph): string {
  const names = (ending: boolean) =>
    boxes
      .filter(({ exit }) => (exit !== null) === ending)
      .map(({ name, exit }) => (exit === null ? name : `${name} (exit ${exit})`))
      .join(', ');
  const ends = names(true);
  return `It begins in ${initial}. States: ${names(false)}.${ends ? ` Endings: ${ends}.` : ''}`;
}

function drawEdge({ edge, points, label }: EdgePath, id: string): string {
  const [x, y] = label.at;
  const anchor = label.side === 'left' ? ' text-anchor="end"' : '';
  const lines = edge.labels.map((line, n) => (n < edge.labels.length - 1 ? `${line} or` : line));
  const texts = lines.map(
    (line, n) => `<text class="label"${anchor} x="${x}" y="${y + n * measures.text}">${line}</text>`,
  );
  return [formatPath({ id, fault: edge.fault }, points), ...texts].join('');
}

function formatPath({ id, fault }: Pick<Edge, 'fault'> & { id: string }, points: Point[]): string {
  const path = `<path d="${pathDataOf(points.toReversed())}"/><path class="head" d="${arrowHeadOf(points)}"/>`;
  return `<g id="${id}" class="road${fault ? ' fault' : ''}">${path}</g>`;
}

/** Straight segments with rounded corners, drawn from the common end so that the dashes of joined edges coincide. */
function pathDataOf(points: Point[]): string {
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

/** Arrow head at the last point. */
function arrowHeadOf(points: Point[]): string {
  const [[fromX, fromY], [x, y]] = points.slice(-2) as [Point, Point];
  const [dx, dy] = [Math.sign(x - fromX), Math.sign(y - fromY)];
  const [backX, backY] = [x - 8 * dx, y - 8 * dy];
  return `M${x} ${y} L${backX - 4 * dy} ${backY - 4 * dx} L${backX + 4 * dy} ${backY + 4 * dx} Z`;
}

function formatNode({ box, x, y, width, height }: LayoutNode, id: string, sublabel = sublabelOf(box)): string {
  const { name, kind, description } = box;
  const middle = y + height / 2 + 4.5;
  return [
    `<g id="${id}" class="${['state', kind, exitClassOf(box)].filter(Boolean).join(' ')}">`,
    description === null ? '' : `<title>${escapeXml(description)}</title>`,
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${kind === 'passing' ? 15 : 6}"/>`,
    `<text class="name" x="${x + 12}" y="${middle}">${name}</text>`,
    sublabel && `<text class="service" text-anchor="end" x="${x + width - 12}" y="${middle}">${sublabel}</text>`,
    '</g>',
  ].join('');
}

function formatFanOut({ x, y, width, height, edges, groups, nodes }: FanOut, layout: Layout, idOf: IdOf): string[] {
  const from = layout.nodes.find(({ box }) => box.name === edges[0]!.from)!;
  const spine = layout.start[0];
  return [
    `<rect class="frame" x="${x}" y="${y}" width="${width}" height="${height}" rx="9"/>`,
    formatPath({ id: idOf(from.box.name, 'ending'), fault: false }, [
      [spine, from.y + from.height],
      [spine, y],
    ]),
    ...groups.map((group) => `<text class="label" x="${x + 12}" y="${group.y + 17}">exit ${group.exit}</text>`),
    ...nodes.map((node) => formatNode(node, idOf(node.box.name), '')),
  ];
}

type IdOf = (...names: string[]) => string;

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const light = {
  ground: '#fbfaf8',
  ink: '#1d2530',
  soft: '#5b6673',
  line: '#8a95a1',
  fault: '#b3261e',
  box: '#eef1f5',
  edge: '#9aa6b2',
  good: ['#e2f3e7', '#1e7d34'],
  later: ['#fdf1cf', '#8f6400'],
  bad: ['#fce4e2', '#b3261e'],
};

const dark: typeof light = {
  ground: '#14181e',
  ink: '#e6eaf0',
  soft: '#a0abb8',
  line: '#6c7885',
  fault: '#f2867d',
  box: '#222a33',
  edge: '#4d5967',
  good: ['#14301d', '#6bc483'],
  later: ['#332a0e', '#e0b54a'],
  bad: ['#3a1a18', '#f2867d'],
};

/** Styles of a standalone SVG, with literal colours because not every viewer supports CSS variables. */
const stylesheet = `
text{font:11px ui-sans-serif,system-ui,"Helvetica Neue",Arial,sans-serif}
.name{font-size:13px;font-weight:600}
.service{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.label{font-style:italic}
.road path{fill:none;stroke-width:1.4}
.fault path{stroke-dasharray:4 3}
.road path.head{stroke:none}
.state rect{stroke-width:1.2}
.ending rect{stroke-width:1.8}
.passing rect{stroke-dasharray:1.5 2.5;stroke-linecap:round}
${formatColours(light)}
@media (prefers-color-scheme:dark){
${formatColours(dark)}
}
`;

function formatColours({ ground, ink, soft, line, fault, box, edge, ...exitClasses }: typeof light): string {
  return [
    `.ground{fill:${ground}}`,
    `.name{fill:${ink}}`,
    `.label,.service{fill:${soft}}`,
    `.start,.road .head{fill:${line}}`,
    `.road path{stroke:${line}}`,
    `.fault .head{fill:${fault}}`,
    `.fault path{stroke:${fault}}`,
    `.state rect{fill:${box};stroke:${edge}}`,
    `.frame{fill:none;stroke:${edge}}`,
    ...Object.entries(exitClasses).map(([name, [fill, stroke]]) => `.${name} rect{fill:${fill};stroke:${stroke}}`),
  ].join('\n');
}
