import { defaultOfflineAfterS, laptopSilenceS } from '../../protocol/checkInTimes.ts';
import { defaultLimits } from '../../protocol/defaultLimits.ts';
import { keyTableOf, optional, required, type ConfigKey, type DottedKey } from '../../config/keyTable.ts';
import { traceKeys } from '../../config/traceKeys.ts';
import {
  absolutePath,
  integer,
  nullable,
  oneOf,
  serviceUrl,
  singleLineName,
  trueOrFalse,
} from '../../config/valueTypes.ts';
import { groupRoles, scopes } from './groupRoles.ts';
import { listenAddress } from './listenAddress.ts';
import type { TenancySettings } from './settings.ts';

const minute = 60;
const day = 24 * 60 * minute;

/** Every key of the tenancy service's config.yaml: the one source of the defaults, the validation and docs/tenancy-config.md. */
export const configKeys: Readonly<Record<DottedKey<TenancySettings>, ConfigKey>> = {
  public_url: required(
    serviceUrl,
    'Base address under which hosts and operators reach the service; also the issuer of its grants and leases.',
  ),
  listen: optional(
    listenAddress,
    '127.0.0.1:8443',
    'Where connections are accepted; every address of the machine is `[::]`.',
  ),
  'tls.certificate_file': optional(
    nullable(absolutePath),
    null,
    'PEM file of the certificate chain, read again when it changes; none behind a proxy on this machine.',
  ),
  'tls.key_file': optional(nullable(absolutePath), null, 'PEM file of its private key.'),
  state_dir: optional(
    absolutePath,
    '/var/lib/deployd-tenancy',
    'Directory of the embedded store, and of the bundles that are not in a bucket.',
  ),
  database_url_file: optional(
    nullable(absolutePath),
    null,
    'File with the URL of a PostgreSQL database, which replaces the embedded store.',
  ),
  key_file: optional(
    absolutePath,
    '<state_dir>/store.key',
    'File that encrypts the signing keys in the store; the same for all instances, and in no backup.',
  ),
  's3.url': optional(nullable(serviceUrl), null, 'Address of an S3 service for the bundles.'),
  's3.bucket': optional(nullable(singleLineName), null, 'Bucket of the bundles.'),
  's3.region': optional(singleLineName, 'us-east-1', 'Region of the bucket.'),
  's3.credentials_file': optional(
    nullable(absolutePath),
    null,
    'JSON file with `access_key_id` and `secret_access_key`.',
  ),
  's3.redirect': optional(
    trueOrFalse,
    false,
    'Whether hosts of transport `system` download from the bucket itself, which they must reach and trust; for others the service fetches.',
  ),
  secretstore_url: required(serviceUrl, 'Base address of the secretstore.'),
  secretstore_ca: optional(
    nullable(absolutePath),
    null,
    'PEM file of the certificate authority that the secretstore is trusted by, also given to hosts; without it, the system’s.',
  ),
  secretstore_namespace: optional(nullable(singleLineName), null, 'Namespace of the secretstore to work in.'),
  'mesh.controller_url': optional(
    nullable(serviceUrl),
    null,
    'Address of the OpenZiti controller that host identities are made at; none without a mesh.',
  ),
  'mesh.controller_ca': optional(
    nullable(absolutePath),
    null,
    'PEM file of the certificate authority that the controller is trusted by; without it, the system’s.',
  ),
  'mesh.credentials_file': optional(nullable(absolutePath), null, 'JSON file with `username` and `password`.'),
  'oidc.issuer_url': optional(
    nullable(serviceUrl),
    null,
    'Issuer of the OpenID provider by which people sign in, exactly as it calls itself; none without sign-in.',
  ),
  'oidc.issuer_ca': optional(
    nullable(absolutePath),
    null,
    'PEM file of the certificate authority that the provider is trusted by; without it, the system’s.',
  ),
  'oidc.client_id': optional(nullable(singleLineName), null, 'Id of the service at the provider.'),
  'oidc.client_secret_file': optional(nullable(absolutePath), null, 'File with its client secret, in one line.'),
  'oidc.scopes': optional(
    scopes,
    ['openid', 'profile', 'email'],
    'What the provider is asked for; `offline_access` where it gives refresh tokens only then, `groups` where it knows that.',
  ),
  'oidc.name_claim': optional(singleLineName, 'email', 'Claim by which the audit log names people.'),
  'oidc.groups_claim': optional(singleLineName, 'groups', 'Claim with the list of a person’s groups.'),
  'oidc.roles': optional(
    groupRoles,
    [],
    'What members of a group may do, and in which envs; who is in several groups may do what any of them may.',
  ),
  'session.idle_s': optional(
    integer('seconds', minute, 7 * day),
    60 * minute,
    'Time without a call after which a session ends.',
  ),
  'session.lifetime_s': optional(
    integer('seconds', minute, 30 * day),
    day / 2,
    'Time after which a session ends in any case.',
  ),
  'session.recheck_s': optional(
    integer('seconds', minute, day),
    15 * minute,
    'How often the provider is asked whether a person still has the groups; without a refresh token a session ends then.',
  ),
  'kit.base_url': optional(nullable(serviceUrl), null, 'Where hosts download the agent’s package.'),
  'kit.version': optional(nullable(singleLineName), null, 'Version of the agent that new hosts install.'),
  'kit.download_token_file': optional(nullable(absolutePath), null, 'File with the bearer of that download.'),
  'kit.secretstore_url': optional(
    nullable(serviceUrl),
    null,
    'Address of the secretstore as hosts reach it; without it, `secretstore_url`.',
  ),
  offline_after_s: optional(
    integer('seconds', minute, day),
    defaultOfflineAfterS,
    'Silence after which a host counts as offline; longer than the `interval_s` of every host. The default is as long as a host waits for containers by default, and its next check-in.',
  ),
  laptop_offline_after_s: optional(integer('seconds', minute, 30 * day), laptopSilenceS, 'The same for a laptop.'),
  retire_timeout_s: optional(
    integer('seconds', minute, 30 * day),
    day,
    'How long a silent host may take to be taken down before its retirement goes on without it.',
  ),
  keep_reports_days: optional(integer('days', 1, 3650), 90, 'How long reports are kept.'),
  keep_bundles: optional(
    integer('bundles', 1, 10_000),
    20,
    'Newest bundles kept of each env, beside those that are desired or applied anywhere.',
  ),
  'limits.bundle_bytes': optional(integer('bytes', 1), defaultLimits.bundle_bytes, 'Largest bundle that is accepted.'),
  'limits.unpacked_bytes': optional(
    integer('bytes', 1),
    defaultLimits.unpacked_bytes,
    'Largest sum of a bundle’s unpacked files.',
  ),
  'limits.bundle_entries': optional(
    integer('entries', 1),
    defaultLimits.bundle_entries,
    'Most files and directories in a bundle.',
  ),
  'webhooks.ca': optional(
    nullable(absolutePath),
    null,
    'PEM file of certificate authorities that endpoints of webhooks are trusted by, beside those of the system.',
  ),
  'webhooks.private_addresses': optional(
    trueOrFalse,
    false,
    'Whether webhooks may be sent to loopback, private and shared addresses; to link-local ones never.',
  ),
  'webhooks.timeout_s': optional(integer('seconds', 1, minute), 10, 'How long the endpoint of a webhook may take.'),
  'webhooks.first_retry_s': optional(
    integer('seconds', 1, 60 * minute),
    5,
    'Pause after the first failure of an endpoint; it doubles with each further one.',
  ),
  'webhooks.longest_retry_s': optional(integer('seconds', 1, day), 60 * minute, 'Longest of these pauses.'),
  'webhooks.give_up_after_s': optional(
    integer('seconds', minute, 30 * day),
    day,
    'Age at which an event that could not be delivered becomes a dead letter, and a gate without an answer halts its rollout.',
  ),
  'webhooks.keep_dead_days': optional(integer('days', 1, 3650), 30, 'How long dead letters are kept.'),
  ...traceKeys,
  max_requests: optional(
    integer('requests', 1, 100_000),
    400,
    'Requests worked on at once; more are answered with 503 and a time to come back.',
  ),
  'log.level': optional(oneOf('error', 'warn', 'info', 'debug'), 'info', 'Least urgent lines that are written.'),
};

/** The keys with their sections. */
export const configTable = keyTableOf(configKeys);
