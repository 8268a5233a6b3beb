import type { Ending } from './endings.ts';

/** The vocabulary of a tick: what flows through the machines. Nothing in here may ever hold a secret. */

/** Lower-case hex sha256 of a bundle's bytes; also the name of its release. */
export type Sha = string;

/** What the operator asked of this run (spec §2 Commands). */
export interface Start {
  /** `bootstrap` stops after the token is there; `tick` goes on to check in. */
  intent: 'tick' | 'bootstrap';
  /** `--prune`: afterwards keep only the release in force. */
  prune: boolean;
  /** Being offline is normal (spec §6 `laptop_mode`). */
  laptopMode: boolean;
}

/** Which credentials lie on the disk; the values stay in the vault. */
export interface Credentials {
  token: boolean;
  grant: boolean;
  /** Where a grant would lie. */
  grantFile: string;
}

/** One container of the project, as reported to the tenancy service. */
export interface Container {
  service: string;
  name: string;
  state: string;
  /** Null without a healthcheck. */
  health: string | null;
  /** Null while running. */
  exit_code: number | null;
}

/** The host as this tick found it, before the check-in. */
export interface Host {
  /** False when the container engine did not answer. */
  engine: boolean;
  healthy: boolean;
  /** An apply was cut short, and nobody has finished or undone it yet. */
  halfMade: boolean;
  /** Services that are missing or not well, by name. */
  ailing: string[];
  containers: Container[];
}

/** A sha that failed before and is not tried again yet (contract: growing pauses). */
export interface Pause {
  /** The line that its last failure wrote. */
  line: string;
  retryInS: number;
}

/** What the tenancy service wants, and what this host makes of it. */
export interface Orders {
  action: 'apply' | 'none' | 'down';
  desiredSha: Sha | null;
  appliedSha: Sha | null;
  sizeBytes: number;
  production: boolean;
  purgeVolumes: boolean;
  /** Why this tick acts: `sha_changed`, `retry:<n>`, `drift:<service>`, `reapply` … */
  reason: string;
  pause: Pause | null;
}

/** A verified bundle, unpacked but not in force. */
export interface Bundle {
  sha: Sha;
  /** Absolute path of the unpacked files. */
  dir: string;
  manifest: Manifest;
}

/** `manifest.json` with its defaults filled in (spec §5, contract of bundles in docs/bundle.md). */
export interface Manifest {
  schema: 1;
  name: string;
  env: string;
  version: string;
  sequence: number;
  production: boolean;
  agent: { allow_privileged: boolean; allow_rollback: boolean };
  compose: string[];
  disk_need_bytes: number | null;
  secrets: ManifestSecret[];
  registries: { host: string; username_var: string; password_var: string }[];
}

/** One variable of a bundle and where in the secretstore its value lies. */
export interface ManifestSecret {
  var: string;
  path: string;
  field: string;
  /** Null asks for the latest version. */
  version: number | null;
}

/** How a tick, or one of its parts, came out. */
export interface Outcome {
  ending: Ending;
  /** Machine word of the report (`DISK_INSUFFICIENT`, `PULL_FAILED` …), null on success. */
  code: string | null;
  /** Journal lines that tell it, first one first. */
  lines: string[];
  /** Redacted tail of the compose output, null when compose did not fail. */
  tail: string | null;
  reason: string;
  /** True when containers and `current` went back to the previous release. */
  reverted: boolean;
}

/** Every refusal, in the order in which they are judged and told (spec §9). */
export const refusalCodes = [
  'BUNDLE_DIGEST',
  'BUNDLE_UNSAFE',
  'MANIFEST_INVALID',
  'SECRET_PATH_REFUSED',
  'ENV_INCOMPLETE',
  'COMPOSE_REFUSED',
  'PRIVILEGED_REFUSED',
  'HOST_NETWORK_REFUSED',
  'ROLLBACK_REFUSED',
  'VOLUME_DIVERGED',
  'DISK_INSUFFICIENT',
  'LEASE_SHAPE',
  'SECRET_UNAVAILABLE',
  'SECRET_UNUSABLE',
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

/** One refusal: its code and the whole detail, every fault of that check in it. */
export interface Refusal {
  code: RefusalCode;
  detail: string;
}
