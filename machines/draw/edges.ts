import type { Arrow, Box, Graph } from './graph.ts';

/** Parallel arrows of a graph, drawn as one edge. */
export interface Edge {
  from: string;
  to: string;
  /** Guards and outside events; empty when the end of the service, or no condition, leads here. */
  labels: string[];
  /** True when only failed services lead here. */
  fault: boolean;
  /** True when each guard names its target, so that the edge belongs to the fan-out to the endings. */
  isFanOut: boolean;
}

/** The edges of a graph, in the order of its arrows. */
export function edgesOf({ boxes, arrows }: Graph): Edge[] {
  const services = new Map(boxes.map(({ name, invokes }) => [name, invokes]));
  return [...Map.groupBy(arrows, ({ from, to }) => `${from} ${to}`).values()].map((same) => {
    const [{ from, to }] = same as [Arrow];
    const labels = same.map((arrow) => labelOf(arrow, services.get(from) ?? null));
    return {
      from,
      to,
      labels: labels.includes('') ? [] : [...new Set(labels)],
      fault: same.every(({ fault }) => fault),
      isFanOut: same.every(guardNamesTarget),
    };
  });
}

/** True for a guard that only repeats its target: `endsAs offline` to `offline`. */
export function guardNamesTarget({ guard, to }: Arrow): boolean {
  return guard?.endsWith(` ${to}`) ?? false;
}

/** Colour class of an exit code: 0 is good, 75 is later (try again), others are bad; null without an exit code. */
export function exitClassOf({ exit }: Box): 'good' | 'later' | 'bad' | null {
  if (exit === null) return null;
  if (exit === 0) return 'good';
  return exit === 75 ? 'later' : 'bad';
}

function labelOf(arrow: Arrow, service: string | null): string {
  if (guardNamesTarget(arrow)) return '';
  const isOfService = arrow.on === `${service} done` || arrow.on === `${service} failed`;
  return [isOfService ? '' : arrow.on, arrow.guard].filter(Boolean).join(' ');
}
