import type { Box, Graph } from './graph.ts';
import { edgesOf, type Edge } from './edges.ts';

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
