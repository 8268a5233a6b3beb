import type { Arrow, Box, Graph } from './graph.ts';
import { asksForItsTarget, verdictOf } from './roads.ts';

const colours = {
  good: 'fill:#e6f4ea,stroke:#1e7d34,color:#12351b',
  later: 'fill:#fff4d6,stroke:#9a6b00,color:#3d2b00',
  bad: 'fill:#fde7e7,stroke:#b3261e,color:#410e0b',
};

/** A graph as a Mermaid state diagram: services as ⚙, parallel arrows as one, endings coloured by their exit code. */
export function mermaidOf({ initial, boxes, arrows }: Graph): string {
  const parallel = Map.groupBy(arrows, ({ from, to }) => `${from} --> ${to}`);
  const lines = [
    ...boxes.map((box) => `state "${captionOf(box)}" as ${box.name}`),
    `[*] --> ${initial}`,
    ...[...parallel].map(([arrow, same]) => [arrow, labelOf(same)].filter(Boolean).join(': ')),
    ...[...Map.groupBy(boxes, verdictOf)].flatMap(([name, own]) => (name === null ? [] : classed(name, own))),
  ];
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`)].join('\n');
}

/** What stands in a box of a picture made of text. */
export function captionOf({ name, invokes, exit }: Box): string {
  if (invokes !== null) return `${name}\\n⚙ ${invokes}`;
  return exit === null ? name : `${name}\\nexit ${exit}`;
}

/** What leads along these arrows; a question that only repeats where it leads is left out. */
function labelOf(same: Arrow[]): string {
  const labels = same.map((arrow) => {
    const asked = arrow.guard === null || asksForItsTarget(arrow) ? '' : `[${arrow.guard}]`;
    return [arrow.on, asked].filter(Boolean).join(' ');
  });
  return labels.filter(Boolean).join('\\n');
}

function classed(name: keyof typeof colours, boxes: Box[]): string[] {
  return [`classDef ${name} ${colours[name]}`, `class ${boxes.map((box) => box.name).join(',')} ${name}`];
}
