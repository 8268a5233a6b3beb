import type { Container } from '../../../../machines/words.ts';
import type { Written } from './containerLog.ts';

/** One container as the engine's inspect tells it. */
export interface Inspected {
  id: string;
  service: string;
  /** Made by `compose run`: mounts and uses things, but is no part of the service. */
  oneOff: boolean;
  name: string;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`. */
  state: string;
  /** `starting`, `healthy`, `unhealthy`, whatever its state; null without a healthcheck. */
  health: string | null;
  exitCode: number;
  /** When it was started last, by the engine's clock; milliseconds since 1970. */
  startedMs: number;
  /** How often the engine started it again since somebody else did. */
  restarts: number;
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
export type Listed = Pick<Inspected, 'id' | 'service' | 'name' | 'health'> & {
  state: 'running';
  /** For how long it has run at least, and less than, in milliseconds. */
  upMs: [number, number];
};

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
  if (container.state === 'exited') return restarts(container) ? 'waiting' : isDone(container) ? 'well' : 'lost';
  const { state, health } = container;
  if (state === 'dead') return 'lost';
  if (state !== 'running') return 'waiting';
  if (health !== null) return health === 'healthy' ? 'well' : 'waiting';
  return settled ? 'well' : 'waiting';
}

/** The form in which a container stands in check-ins and reports. */
export function reportedOf(container: Seen): Container {
  const { service, name, state, health } = container;
  const exitCode = container.state === 'exited' || container.state === 'dead' ? container.exitCode : null;
  return { service, name, state, health, exit_code: exitCode };
}

type Owned = Pick<Inspected, 'id' | 'service'>;

/** What became of services: `services` in new containers, the untouched ones, those that are gone; by name, sorted. */
export function renewal(before: Owned[], after: Owned[]): Record<'services' | 'untouched' | 'gone', string[]> {
  const known = new Set(before.map(({ id }) => id));
  const fresh = namesOf(after.filter(({ id }) => !known.has(id)));
  const present = namesOf(after);
  return {
    services: fresh,
    untouched: present.filter((name) => !fresh.includes(name)),
    gone: namesOf(before).filter((name) => !present.includes(name)),
  };
}

function namesOf(containers: Owned[]): string[] {
  return [...new Set(containers.map(({ service }) => service))].sort();
}

/** A finished one-shot: the engine starts it no more, and nothing says that it should still serve. */
/** A one-shot that has done its work and will not be started by the engine. */
export function isFinished(container: Inspected): boolean {
  return container.state === 'exited' && !restarts(container) && isDone(container);
}

function isDone({ health, exitCode }: Inspected): boolean {
  return health === null && exitCode === 0;
}

function restarts({ restartPolicy }: Inspected): boolean {
  return restartPolicy === 'always' || restartPolicy === 'unless-stopped';
}
