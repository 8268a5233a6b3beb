import { defaultPolicy, type HostPolicy } from '../../../../protocol/hostPolicy.ts';
import type { HostPaths } from './hostPaths.ts';

/** The host that a bundle is judged for. */
export interface PolicyHost {
  readonly policy: HostPolicy;
  /** Paths of the engine's sockets: whoever may write to one is root on the host. */
  readonly engineSockets: readonly string[];
  /** Null when the bundle is judged elsewhere. */
  readonly paths: HostPaths | null;
}

/** Names on the engine of what does not belong to the project. */
export interface NamesOutside {
  readonly containers: ReadonlySet<string>;
  readonly networks: ReadonlySet<string>;
  readonly volumes: ReadonlySet<string>;
}

/** Where engines have their sockets by default. */
export const defaultEngineSockets = ['/run', '/var/run'].flatMap((run) => [
  `${run}/docker.sock`,
  `${run}/podman/podman.sock`,
]);

/** Any host without a policy. */
export const anyHost: PolicyHost = { policy: defaultPolicy, engineSockets: defaultEngineSockets, paths: null };
