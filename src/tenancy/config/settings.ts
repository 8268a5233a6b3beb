import type { TraceSettings } from '../../core/config/sharedKeys.ts';
import { portPattern, textLike } from '../../core/config/valueTypes.ts';

/** What members of a group of the OpenID provider may do. */
export interface GroupRole {
  readonly group: string;
  readonly role: 'viewer' | 'deployer' | 'admin';
  /** The only envs that the role is for; without it, all. */
  readonly envs?: readonly string[];
}

/** The validated configuration of the tenancy service: its config.yaml merged with the defaults, frozen. */
export interface TenancySettings {
  /** `host:port` that is listened on; without `tls` only a loopback address. */
  readonly listen: string;
  /** Base URL under which hosts and operators reach the service; also the issuer of grants and leases. No trailing slash. */
  readonly public_url: string;
  /** PEM files, read again when they change; null behind a proxy on loopback. */
  readonly tls: { readonly certificate_file: string | null; readonly key_file: string | null };
  /** Directory of the embedded store and of bundles that are not in a bucket. */
  readonly state_dir: string;
  /** File with the URL of a PostgreSQL database; null for the embedded store. */
  readonly database_url_file: string | null;
  /** File of 32 bytes that encrypts the signing keys in the store. */
  readonly key_file: string;
  /** Bucket of the bundles; all null for the directory `<state_dir>/bundles`. */
  readonly s3: {
    readonly url: string | null;
    readonly bucket: string | null;
    readonly region: string;
    /** JSON file: `{"access_key_id", "secret_access_key"}`. */
    readonly credentials_file: string | null;
    /** Whether hosts of transport `system` are sent to the bucket for their downloads. */
    readonly redirect: boolean;
  };
  readonly secretstore_url: string;
  readonly secretstore_ca: string | null;
  readonly secretstore_namespace: string | null;
  /** The controller of an OpenZiti mesh; all null without one. */
  readonly mesh: {
    readonly controller_url: string | null;
    readonly controller_ca: string | null;
    /** JSON file: `{"username", "password"}`. */
    readonly credentials_file: string | null;
  };
  /** The OpenID provider by which people sign in; all null, and no roles, without one. */
  readonly oidc: {
    /** Exactly as the provider writes it. */
    readonly issuer_url: string | null;
    readonly issuer_ca: string | null;
    readonly client_id: string | null;
    readonly client_secret_file: string | null;
    readonly scopes: readonly string[];
    readonly name_claim: string;
    readonly groups_claim: string;
    readonly roles: readonly GroupRole[];
  };
  /** Seconds that a session may be idle, last at all, and go on without the provider. */
  readonly session: { readonly idle_s: number; readonly lifetime_s: number; readonly recheck_s: number };
  /** What an install kit says beside the backend's own fields. */
  readonly kit: {
    /** Where the agent's package is downloaded. */
    readonly base_url: string | null;
    readonly version: string | null;
    /** File with the bearer of that download. */
    readonly download_token_file: string | null;
    /** Address of the secretstore as hosts see it; null for `secretstore_url`. */
    readonly secretstore_url: string | null;
  };
  readonly offline_after_s: number;
  readonly laptop_offline_after_s: number;
  /** How long a silent host may take to answer a retirement with `down`. */
  readonly retire_timeout_s: number;
  readonly keep_reports_days: number;
  readonly keep_bundles: number;
  /** Caps of the bundles that are accepted; hosts have the same defaults. */
  readonly limits: { readonly bundle_bytes: number; readonly unpacked_bytes: number; readonly bundle_entries: number };
  /** Notifications of operators. */
  readonly webhooks: {
    /** PEM file of authorities that endpoints are trusted by, beside those of the system. */
    readonly ca: string | null;
    /** Whether endpoints may have loopback, private or shared addresses. */
    readonly private_addresses: boolean;
    readonly timeout_s: number;
    readonly first_retry_s: number;
    readonly longest_retry_s: number;
    /** Age at which an event that could not be delivered becomes a dead letter. */
    readonly give_up_after_s: number;
    readonly keep_dead_days: number;
  };
  /** Where spans of requests are sent. */
  readonly traces: TraceSettings;
  /** Requests that are worked on at once; more are answered 503. */
  readonly max_requests: number;
  readonly log: { readonly level: 'error' | 'warn' | 'info' | 'debug' };
}

/** An IP address or `localhost`, and a port. */
export const listenAddress = textLike(
  `^(localhost|(\\d{1,3}\\.){3}\\d{1,3}|\\[[0-9a-fA-F:.]+\\]):${portPattern}$`,
  'an IP address and a port, such as 127.0.0.1:8443 or [::]:443',
);

/** The parts of such an address; `host` is without brackets. */
export function parseListenAddress(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: listen.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(listen.slice(colon + 1)) };
}
