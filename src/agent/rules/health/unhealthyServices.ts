import { wellnessOf, type Inspected, type Seen, type Wellness } from './health.ts';

/** A service as its release names it. */
export interface Expected {
  name: string;
  replicas: number;
}

/** A container as a wait saw it last. */
export interface Watched {
  container: Inspected;
  wellness: Wellness;
  /** The code of the last exit that was seen; null where none was. */
  lastExit: number | null;
}

/** Services that lack a container or have one that is not well, by name, sorted. */
export function ailingServices(containers: Seen[], expected: Expected[]): string[] {
  return ailingOf(
    containers.map((container) => ({ container, wellness: wellnessOf(container, true) })),
    expected,
  );
}

/** The same of containers that were judged already. */
export function ailingOf(judged: { container: Seen; wellness: Wellness }[], expected: Expected[]): string[] {
  const ailing = new Set(judged.filter(({ wellness }) => wellness !== 'well').map(({ container: c }) => c.service));
  for (const { name, replicas } of expected)
    if (judged.filter(({ container }) => container.service === name).length < replicas) ailing.add(name);
  return [...ailing].sort();
}

/** `web=unhealthy, db=exited(3), job=restarting (4 restarts, last exit 1)`: what the line of a failed wait says of each service. */
export function describeAiling(watched: Watched[], ailing: string[]): string {
  return ailing
    .map((service) => `${service}=${stateOf(watched.filter(({ container }) => container.service === service))}`)
    .join(', ');
}

/** How the worst of a service's containers is, and what is known of why. */
function stateOf(watched: Watched[]): string {
  const worst = watched.find(({ wellness }) => wellness === 'lost') ?? watched.find((each) => each.wellness !== 'well');
  const shown = worst ?? watched[0];
  if (!shown) return 'missing';
  const details = detailsOf(shown);
  return `${wordOf(shown.container)}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

function wordOf({ state, health, exitCode }: Inspected): string {
  if (state === 'exited') return `exited(${exitCode})`;
  return state === 'running' ? (health ?? state) : state;
}

function detailsOf({ container, wellness, lastExit }: Watched): string[] {
  const { state, health, restarts } = container;
  const unsettled = state === 'running' && health === null && wellness === 'waiting';
  return [
    ...(state === 'exited' && health !== null ? [health] : []),
    ...(unsettled ? ['not settled'] : []),
    ...(restarts > 0 ? [restarts === 1 ? '1 restart' : `${restarts} restarts`] : []),
    ...(state !== 'exited' && lastExit !== null ? [`last exit ${lastExit}`] : []),
  ];
}
