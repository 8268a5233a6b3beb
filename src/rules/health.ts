import type { Container } from '../../machines/words.ts';
import type { Written } from './written.ts';

/** One container as the engine's inspect tells it. */
export interface Inspected {
  id: string;
  service: string;
  /** Made by `compose run`: mounts and uses things, but is no part of the service. */
  oneOff: boolean;
  name: string;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`. */
  state: string;
  /** `starting`, `healthy`, `unhealthy`; null without a healthcheck. */
  health: string | null;
  exitCode: number;
  /** When it was started last, by the engine's clock; milliseconds since 1970. */
  startedMs: number;
  /** `no`, `always`, `on-failure`, `unless-stopped`. */
  restartPolicy: string;
  image: string;
  imageId: string;
  /** Sources of its mounts on the host. */
  mounts: string[];
  /** Output of its last health probes. */
  healthLog: Written[];
}

/** A container that runs, as the engine's list tells it, which leaves its environment out. */
export type Listed = Pick<Inspected, 'service' | 'name' | 'health'> & { state: 'running' };

/** A container as far as it had to be looked at to see how it is. */
export type Seen = Listed | Inspected;

/** The health that an engine tells; of a container without a healthcheck Docker tells none or `none`, Podman an empty one. */
export function healthOf(told: string | undefined): string | null {
  return told === undefined || told === '' || told === 'none' ? null : told;
}

/** `well`: healthy, settled or done; `waiting`: may yet become so; `lost`: will not without help. */
export type Wellness = 'well' | 'waiting' | 'lost';

/** How one container is. Without a healthcheck it must have run unchanged for the settle time (`settled`). */
export function wellnessOf(container: Seen, settled: boolean): Wellness {
  if (container.state === 'exited')
    return container.exitCode === 0 && !restarts(container) ? 'well' : restarts(container) ? 'waiting' : 'lost';
  const { state, health } = container;
  if (state === 'dead') return 'lost';
  if (state !== 'running') return 'waiting';
  if (health !== null) return health === 'healthy' ? 'well' : 'waiting';
  return settled ? 'well' : 'waiting';
}

/** Services that lack a container or have one that is not well, by name, sorted. */
export function ailingServices(containers: Seen[], expected: { name: string; replicas: number }[]): string[] {
  const ailing = new Set(containers.filter((c) => wellnessOf(c, true) !== 'well').map((c) => c.service));
  for (const { name, replicas } of expected)
    if (containers.filter((c) => c.service === name).length < replicas) ailing.add(name);
  return [...ailing].sort();
}

/** `web=unhealthy, db=exited(3)`: what the line of a failed wait says of each service. */
export function describeAiling(containers: Inspected[], ailing: string[]): string {
  return ailing.map((service) => `${service}=${stateOf(containers.filter((c) => c.service === service))}`).join(', ');
}

/** The form in which a container stands in check-ins and reports. */
export function reportedOf(container: Seen): Container {
  const { service, name, state, health } = container;
  const exitCode = container.state === 'exited' || container.state === 'dead' ? container.exitCode : null;
  return { service, name, state, health, exit_code: exitCode };
}

/** What became of services: `services` in new containers, the untouched ones, those that are gone; by name, sorted. */
export function renewal(before: Inspected[], after: Inspected[]): Record<'services' | 'untouched' | 'gone', string[]> {
  const known = new Set(before.map(({ id }) => id));
  const fresh = namesOf(after.filter(({ id }) => !known.has(id)));
  const present = namesOf(after);
  return {
    services: fresh,
    untouched: present.filter((name) => !fresh.includes(name)),
    gone: namesOf(before).filter((name) => !present.includes(name)),
  };
}

function namesOf(containers: Inspected[]): string[] {
  return [...new Set(containers.map(({ service }) => service))].sort();
}

function restarts({ restartPolicy }: Inspected): boolean {
  return restartPolicy === 'always' || restartPolicy === 'unless-stopped';
}

function stateOf(containers: Inspected[]): string {
  const worst =
    containers.find((c) => wellnessOf(c, true) === 'lost') ?? containers.find((c) => wellnessOf(c, true) === 'waiting');
  const container = worst ?? containers[0];
  if (!container) return 'missing';
  const { state, health, exitCode } = container;
  return state === 'exited' ? `exited(${exitCode})` : (health ?? state);
}
