/** The privileges that a host grants bundles beyond the default, by kind (spec §12). */
export interface Permits {
  /** Host paths to mount: `/srv/shop/**`, with `:ro` for read-only mounts alone. */
  readonly binds: readonly string[];
  /** Services that may mount the engine's socket. */
  readonly engine_socket: readonly string[];
  /** Without the prefix `CAP_`. */
  readonly capabilities: readonly string[];
  /** Device files as written in compose files: `/dev/ttyUSB*`. */
  readonly devices: readonly string[];
  /** External networks to join, by the engine's name. */
  readonly networks: readonly string[];
  /** External volumes to mount, by the engine's name. */
  readonly volumes: readonly string[];
  /** Services that may use the host's network. */
  readonly host_network: readonly string[];
  /** Options as in `security_opt`: `apparmor:unconfined`. */
  readonly security_opt: readonly string[];
  /** Services that may use the GPUs. */
  readonly gpus: readonly string[];
  /** Kernel parameters that a container may set. */
  readonly sysctls: readonly string[];
  /** Supplementary groups of the host. */
  readonly groups: readonly string[];
  /** Services that may see the host's processes. */
  readonly host_pid: readonly string[];
  /** Services that may use the host's shared memory. */
  readonly host_ipc: readonly string[];
  /** Services that may run privileged. */
  readonly privileged: readonly string[];
}

export type PermitKey = keyof Permits;

/** Bounds of a policy, so that a check-in can contain it: entries of each permit, and characters of each entry. */
export const policyBounds = { entries: 64, characters: 253 } as const;

/** Longest text of a violation of the policy in a check-in. */
export const maxViolationCharacters = 1000;

/** Every kind of permit, in the order of the documentation. */
export const permitKeys = [
  ...['binds', 'engine_socket', 'capabilities', 'devices', 'networks', 'volumes', 'host_network'],
  ...['security_opt', 'gpus', 'sysctls', 'groups', 'host_pid', 'host_ipc', 'privileged'],
] as readonly PermitKey[];

/** The privileges that a host may deny: no flag of a bundle and no request lifts a denial. */
export const denials = ['privileged', 'host_network', 'rollback', 'engine_socket', 'purge'] as const;
export type Denial = (typeof denials)[number];

/** The policy of a host: what it permits and denies, and which images it runs. */
export interface HostPolicy {
  readonly permit: Partial<Permits>;
  readonly deny: readonly Denial[];
  /** `digest`: every image is pinned by its sha256. */
  readonly images: 'any' | 'digest';
}

/** The policy of a host that configures none. */
export const defaultPolicy: HostPolicy = { permit: {}, deny: [], images: 'any' };

/** True if a host has the default policy. */
export function isDefaultPolicy({ permit, deny, images }: HostPolicy): boolean {
  return Object.keys(permit).length === 0 && deny.length === 0 && images === 'any';
}
