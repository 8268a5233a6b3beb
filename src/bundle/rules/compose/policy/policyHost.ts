import { defaultPolicy, type HostPolicy } from '../../../../protocol/hostPolicy.ts';

/** What is known of the host's paths that a bundle wants to mount. */
export interface HostPaths {
  /** Where each path leads, all links resolved; null for one that is missing or that the agent cannot follow. */
  readonly resolved: ReadonlyMap<string, string | null>;
  /** Paths that no bundle may reach: the agent's own, and the container engine's. Links are resolved. */
  readonly protectedPaths: readonly string[];
  /** Host paths, links resolved, that containers of the project mount now. */
  readonly mountedNow: readonly HostMount[];
}

/** A mounted host path. */
export interface HostMount {
  readonly path: string;
  readonly isWritable: boolean;
}

/** What runs the services of a bundle: compose on one host, or Docker Swarm on several. */
export type OrchestratorName = 'compose' | 'swarm';

/** The host that a bundle is judged for. */
export interface PolicyHost {
  /** By default compose. */
  readonly orchestrator?: OrchestratorName;
  /** The compose that it has; null or absent when nobody looked. */
  readonly composeVersion?: readonly [major: number, minor: number] | null;
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

/** What the policy judges by, of an engine. */
export interface EnginePolicyFacts {
  /** Names of the containers, networks and volumes that do not belong to the project. */
  readonly outside: NamesOutside;
  /** Whether it can mount a part of a volume; older ones mount the whole volume instead. */
  readonly mountsSubpaths: boolean;
  /** The version of Docker's API that it speaks. */
  readonly engineApi?: readonly [major: number, minor: number];
}

const socketNames = ['docker.sock', 'podman/podman.sock', 'containerd/containerd.sock', 'crio/crio.sock'];

/** Where engines have their sockets by default. */
export const defaultEngineSockets = ['/run', '/var/run'].flatMap((run) => socketNames.map((name) => `${run}/${name}`));

/** Any host without a policy. */
export const anyHost: PolicyHost = { policy: defaultPolicy, engineSockets: defaultEngineSockets, paths: null };
