import { type Arrow, type Box, type Edge, edgesOf, exitClassOf, type Graph, guardNamesTarget } from './graph.ts';

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
