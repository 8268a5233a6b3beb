import type { Box, Graph } from './graph.ts';
import { captionOf } from './mermaid.ts';
import { edgesOf, exitClassOf, type Edge } from './edges.ts';

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
