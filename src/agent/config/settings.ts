import type { TraceSettings } from '../../core/config/sharedKeys.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import type { HostPolicy } from '../../api/hostPolicy.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';

/** What the configuration of another env of this host says; a key is absent where it is not valid. */
export type OtherEnv = Partial<Pick<Settings, 'env' | 'state_dir'>> & Pick<Settings, 'config_file'>;

/** The validated configuration: config.yaml merged with the defaults, frozen (spec §6). */
export interface Settings {
  /** The file that they come from. */
  readonly config_file: string;
  readonly env: string;
  readonly site: string;
  readonly transport: 'sdk' | 'proxy' | 'system';
  /** Port of the tenancy service; always the same as in `tenancy_url`. */
  readonly port: number;
  /** Without a trailing slash; includes the port unless it is the scheme's default. */
  readonly tenancy_url: string;
  /** Without a trailing slash. */
  readonly secretstore_url: string;
  /** Path of a PEM file; null when the default file does not exist: the system's roots are used then. */
  readonly secretstore_ca: string | null;
  readonly tenancy_ca: string | null;
  readonly secretstore_role: string;
  readonly secretstore_namespace: string | null;
  readonly mesh: {
    readonly identity_file: string;
    readonly tenancy_service: string;
    readonly secretstore_service: string;
  };
  readonly laptop_mode: boolean;
  readonly interval_s: number;
  /** Null: however long the host is offline, its ticks do not fail. */
  readonly offline_alarm_s: number | null;
  readonly volumes_on_absent: 'keep' | 'purge';
  readonly disk: { readonly headroom_bytes: number; readonly paths: readonly string[] };
  readonly state_dir: string;
  readonly bootstrap_file: string;
  /** `unix://<path>`. */
  readonly container_host: string;
  readonly orchestrator: 'compose' | 'swarm';
  /** How work is done on nodes of a swarm that this host cannot reach. */
  readonly swarm: {
    /** Pinned by its digest; null: none is done. */
    readonly node_image: string | null;
    readonly node_socket: string;
  };
  /** `auto`, or the path of a compose v2 program. */
  readonly compose: string;
  readonly connect_timeout_s: number;
  readonly http_timeout_s: number;
  readonly download_stall_s: number;
  readonly download_timeout_s: number;
  readonly pull_stall_s: number;
  readonly pull_timeout_s: number;
  readonly up_timeout_s: number;
  readonly down_timeout_s: number;
  readonly health_timeout_s: number;
  /** At least `health_timeout_s`. */
  readonly health_timeout_max_s: number;
  readonly job_timeout_s: number;
  readonly settle_s: number;
  readonly keep_releases: number;
  readonly heal: boolean;
  /** What a heal does with a container that runs and stays unhealthy. */
  readonly heal_unhealthy: 'restart' | 'report';
  /** What becomes of containers that another tool created or changed. */
  readonly drift: 'heal' | 'report';
  readonly on_failure: 'revert' | 'leave';
  readonly production: boolean;
  readonly apply: {
    /** When one bundle may replace another; without any at all times. */
    readonly windows: readonly TimeWindow[];
    /** Whether a bundle of an emergency does not wait for them. */
    readonly emergency: boolean;
  };
  readonly policy: HostPolicy;
  readonly trust: {
    /** Null: bundles need no signature. */
    readonly bundles: TrustSettings | null;
    /** Null: images need no signature. */
    readonly images: TrustSettings | null;
  };
  readonly limits: { readonly bundle_bytes: number; readonly unpacked_bytes: number; readonly bundle_entries: number };
  readonly metrics: {
    /** Null: no file is written. */
    readonly textfile: string | null;
    /** `http://` and a loopback address, or `unix://<path>`; null: the loop does not listen. */
    readonly listen: string | null;
  };
  /** Where the traces of ticks are sent. */
  readonly traces: TraceSettings;
  readonly log: {
    readonly format: 'auto' | 'journal' | 'json' | 'pretty';
    readonly level: 'error' | 'warn' | 'info' | 'debug';
  };
}

/** Of what a host demands signatures; null: of none. */
export interface HostTrust {
  readonly bundles: TrustSettings | null;
  readonly images: TrustSettings | null;
}

/** Of what signatures are demanded. */
export type Signed = keyof HostTrust;
