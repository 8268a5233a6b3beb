import { apply } from '../../../machines/apply.ts';
import { down } from '../../../machines/down.ts';
import { dotOf } from '../../../machines/draw/dot.ts';
import { graphOf, type Graph } from '../../../machines/draw/graph.ts';
import { mermaidOf } from '../../../machines/draw/mermaid.ts';
import { svgOf } from '../../../machines/draw/svg.ts';
import { textOf } from '../../../machines/draw/text.ts';
import { loop } from '../../../machines/loop.ts';
import { tick } from '../../../machines/tick.ts';

const machines = { tick, apply, down, loop };

const printers = {
  mermaid: mermaidOf,
  dot: dotOf,
  svg: svgOf,
  json: (graph: Graph) => JSON.stringify(graph, null, 2),
};

type Form = keyof typeof printers;

/** Names of the machines that can be shown. */
export const machineNames = Object.keys(machines) as (keyof typeof machines)[];

/** The forms other than plain text, with what they are for. */
export const machineForms: Record<Form, string> = {
  mermaid: 'as Mermaid text, which forges draw',
  dot: 'as Graphviz text',
  svg: 'as a picture',
  json: 'its states and arrows as JSON',
};

/** The form whose option was given; null stands for plain text. */
export function formOf(options: Partial<Record<Form, boolean>>): Form | null {
  return (Object.keys(printers) as Form[]).find((form) => options[form]) ?? null;
}

/** One of the machines as text or as a picture (spec §7), with a line end; it needs no configuration. */
export function machineText(name: (typeof machineNames)[number], form: Form | null): string {
  const print = form === null ? textOf : printers[form];
  return `${print(graphOf(machines[name])).trimEnd()}\n`;
}
