import { defaultPolicy, type HostPolicy, type PermitKey } from '../../api/hostPolicy.rules.ts';
import { printable } from '../../core/text.rules.ts';

/** The known facts about the host's paths that a bundle mounts. */
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

/** The orchestrator of a bundle's services: compose on one host, or Docker Swarm on several. */
export type OrchestratorName = 'compose' | 'swarm';

/** The host for which a bundle is validated. */
export interface PolicyHost {
  /** By default compose. */
  readonly orchestrator?: OrchestratorName;
  /** The compose that it has; null or absent when nobody looked. */
  readonly composeVersion?: readonly [major: number, minor: number] | null;
  readonly policy: HostPolicy;
  /** Paths of the engine's sockets: whoever may write to one is root on the host. */
  readonly engineSockets: readonly string[];
  /** Null if the bundle is validated elsewhere. */
  readonly paths: HostPaths | null;
}

/** Names on the engine outside the project. */
export interface NamesOutside {
  readonly containers: ReadonlySet<string>;
  readonly networks: ReadonlySet<string>;
  readonly volumes: ReadonlySet<string>;
}

/** The facts of an engine for the policy. */
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

/** A privilege over the host that a value needs, and that `policy.permit` can grant. */
export interface Power {
  readonly permit: PermitKey;
  /** The permitted entry: a capability, a service, a path. It may be the value of a secret in a rendered model. */
  readonly entry: string;
  /** For a bind mount. */
  readonly isWritable?: boolean;
  /** The service that asks for it; absent for a network or volume. */
  readonly service?: string;
}

/** A power that the host permits, with the entry of `policy.permit` that grants it and no more. */
export type PermittedPower = Pick<Power, 'permit' | 'entry' | 'service'>;

/** The line of config.yaml that permits a power; without an entry, which would show a secret, only its key. */
export function permitCure(permit: PermitKey, entry?: string): string {
  return entry === undefined
    ? `permit it by policy.permit.${permit} in config.yaml of the host`
    : `permit it by policy: {permit: {${permit}: [${JSON.stringify(printable(entry))}]}} in config.yaml of the host`;
}

/** The entry of `policy.permit` that grants a power, and no more. */
export function permitEntry({ permit, entry, isWritable }: Power): string {
  return permit === 'binds' && isWritable === false ? `${entry}:ro` : entry;
}

/** A permitted power as a text; whoever has the engine's socket, or runs privileged, is root on the host. */
export function formatPermitted({ permit, entry, service }: PermittedPower): string {
  const by = service === undefined || service === entry ? '' : ` for service ${printable(service)}`;
  const root = permit === 'engine_socket' || permit === 'privileged' ? ', which is root on the host' : '';
  return `permitted here: ${permit} ${printable(entry)}${by}${root}`;
}
