import { apply } from '../../machines/apply.ts';
import { down } from '../../machines/down.ts';
import { type Graph, graphOf } from '../../machines/draw/graph.ts';
import { dotOf, mermaidOf, svgOf, textOf } from '../../machines/draw/formats.ts';
import { loop } from '../../machines/loop.ts';
import { tick } from '../../machines/tick.ts';

const machines = { tick, apply, down, loop };

const formatters = {
  mermaid: mermaidOf,
  dot: dotOf,
  svg: svgOf,
  json: (graph: Graph) => JSON.stringify(graph, null, 2),
};

type Format = keyof typeof formatters;

/** Names of the machines. */
export const machineNames = Object.keys(machines) as (keyof typeof machines)[];

/** Output formats other than plain text, with their help text. */
export const machineFormats: Record<Format, string> = {
  mermaid: 'print Mermaid text',
  dot: 'print Graphviz text',
  svg: 'print an SVG picture',
  json: 'print states and transitions as JSON',
};

/** The format whose option is set; null for plain text. */
export function formatOf(options: Partial<Record<Format, boolean>>): Format | null {
  return (Object.keys(formatters) as Format[]).find((format) => options[format]) ?? null;
}

/** A machine as text or picture (spec §7), with a final newline; needs no configuration. */
export function formatMachine(name: (typeof machineNames)[number], format: Format | null): string {
  const formatter = format === null ? textOf : formatters[format];
  return `${formatter(graphOf(machines[name])).trimEnd()}\n`;
}
