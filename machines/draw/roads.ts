import type { Arrow, Box, Graph } from './graph.ts';

/** Parallel arrows as one line of a picture, and what must be said beside it. */
export interface Road {
  from: string;
  to: string;
  /** Questions and outside events; empty where the service's own end leads on, or nothing else is left. */
  labels: string[];
  /** True when only a service that gave up leads here. */
  fault: boolean;
  /** True when it leads to the ending that it asks for. */
  fan: boolean;
}

/** The roads of a machine in the order in which it is written. */
export function roadsOf({ boxes, arrows }: Graph): Road[] {
  const services = new Map(boxes.map(({ name, invokes }) => [name, invokes]));
  return [...Map.groupBy(arrows, ({ from, to }) => `${from} ${to}`).values()].map((same) => {
    const [{ from, to }] = same as [Arrow];
    const labels = same.map((arrow) => labelOf(arrow, services.get(from) ?? null));
    return {
      from,
      to,
      labels: labels.includes('') ? [] : [...new Set(labels)],
      fault: same.every(({ fault }) => fault),
      fan: same.every(asksForItsTarget),
    };
  });
}

/** True of an arrow whose question only repeats where it leads, `endsAs offline` to `offline`. */
export function asksForItsTarget({ guard, to }: Arrow): boolean {
  return guard?.endsWith(` ${to}`) ?? false;
}

/** Green, yellow and red of a box with an exit code: good, to be tried again later, bad; null of any other box. */
export function verdictOf({ exit }: Box): 'good' | 'later' | 'bad' | null {
  if (exit === null) return null;
  if (exit === 0) return 'good';
  return exit === 75 ? 'later' : 'bad';
}

function labelOf(arrow: Arrow, service: string | null): string {
  if (arrow.guard !== null) return asksForItsTarget(arrow) ? '' : arrow.guard;
  return arrow.on === `${service} done` || arrow.on === `${service} failed` ? '' : arrow.on;
}
