import type { Arrow, Box, Graph } from './graph.ts';
import { guardNamesTarget, exitClassOf } from './edges.ts';

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
export function captionOf({ name, invokes, exit }: Box): string {
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
