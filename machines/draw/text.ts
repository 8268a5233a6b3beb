import type { Box, Graph } from './graph.ts';
import { roadsOf, type Road } from './roads.ts';

/** A graph as lines for a terminal: every state with what it does and where it leads, endings with their exit codes. */
export function textOf(graph: Graph): string {
  const roads = roadsOf(graph);
  const isEnding = ({ exit }: Box) => exit !== null;
  const states = graph.boxes.filter((box) => !isEnding(box)).map((box) => stateText(box, roads));
  const heard = graph.anywhere.map(({ on, actions }) => `${on}, wherever it is: ${actions.join(', ')}`);
  const endings = graph.boxes.filter(isEnding);
  return [`machine ${graph.id}`, ...states, ...heard, ...(endings.length > 0 ? [endingsText(endings)] : [])].join(
    '\n\n',
  );
}

function stateText({ name, invokes, description }: Box, roads: Road[]): string {
  const own = roads.filter(({ from }) => from === name);
  const ways = own.filter(({ fan }) => !fan).map((road) => `    ${wayText(road)}`);
  const fan = own.some((road) => road.fan) ? ['    → the ending of the outcome'] : [];
  const told = description === null ? [] : [`    ${description}`];
  return [`  ${name}${invokes === null ? '' : `  ⚙ ${invokes}`}`, ...told, ...ways, ...fan].join('\n');
}

function wayText({ to, labels, fault }: Road): string {
  const when = [...(fault ? ['failed'] : []), ...(labels.length > 0 ? [labels.join(' or ')] : [])].join(', ');
  return `→ ${to}${when && `  (${when})`}`;
}

function endingsText(endings: Box[]): string {
  const width = Math.max(...endings.map(({ name }) => name.length));
  const lines = endings.map(
    ({ name, exit, description }) => `  ${name.padEnd(width)}  exit ${String(exit).padEnd(2)}  ${description ?? ''}`,
  );
  return ['endings', ...lines].join('\n');
}
