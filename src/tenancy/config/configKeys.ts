import { Type } from 'typebox';
import { guard, keyTableOf, optional, required, type SettingsOf } from '../../core/config/keyTable.ts';
import { limitKeys, traceKeys } from '../../core/config/sharedKeys.ts';
import { defaultOfflineAfterS, laptopSilenceS } from '../../api/checkIn.rules.ts';
import {
  absolutePath,
  envId,
  integer,
  nullable,
  oneOf,
  portPattern,
  serviceUrl,
  singleLineName,
  textLike,
  trueOrFalse,
} from '../../core/config/valueTypes.ts';

const maxRoles = 100;
const name = Type.String({ pattern: '^[^\\p{Cc}]{1,253}$' });

/** The roles of groups. */
const groupRoles = {
  schema: Type.Array(
    Type.Object(
      {
        group: name,
        role: Type.Enum(['viewer', 'deployer', 'admin']),
        envs: Type.Optional(Type.Array(envId.schema, { minItems: 1, maxItems: 100, uniqueItems: true })),
      },
      { additionalProperties: false },
    ),
    { maxItems: maxRoles, uniqueItems: true },
  ),
  allowed: `a list of at most ${maxRoles} of {group, role, envs}: role is one of viewer, deployer, admin; envs, which may be left out, are names of environments`,
};

/** OAuth scopes, without duplicates. */
const scopes = {
  schema: Type.Array(Type.String({ pattern: '^[!#-\\[\\]-~]+$' }), { minItems: 1, uniqueItems: true }),
  allowed: 'a list of scopes, none twice',
};

/** An IP address or `localhost`, and a port. */
const listenAddress = textLike(
  `^(localhost|(\\d{1,3}\\.){3}\\d{1,3}|\\[[0-9a-fA-F:.]+\\]):${portPattern}$`,
  'an IP address and a port, such as 127.0.0.1:8443 or [::]:443',
);

const minute = 60;
const day = 24 * 60 * minute;

/**
 * Every key of the tenancy service's config.yaml: the only source of the defaults, the validation and
 * docs/tenancy-config.md.
 */
export const configTable = keyTableOf({
  public_url: required(
    serviceUrl,
    'Base address of the service for hosts and operators; also the issuer of its grants and leases.',
  ),
  listen: optional(
    listenAddress,
    '127.0.0.1:8443',
    'Address and port to listen on; `[::]` means all addresses of the machine.',
  ),
  'tls.certificate_file': guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate chain, read again when it changes; not needed behind a proxy on this machine.',
    ),
  ),
  'tls.key_file': guard(optional(nullable(absolutePath), null, 'PEM file with the private key.')),
  'tls.own_authority': optional(
    trueOrFalse,
    false,
    'Instead of files, use a certificate for the host name of `public_url`, signed by an authority of the service. Both are in the store, encrypted with `key_file`, and are renewed by the service. `deployd-tenancy authority` prints the authority for those who call the service.',
  ),
  state_dir: optional(
    absolutePath,
    '/var/lib/deployd-tenancy',
    'Directory of the embedded store, and of bundles that are not in a bucket.',
  ),
  database_url_file: optional(
    nullable(absolutePath),
    null,
    'File with the URL of a PostgreSQL database to use instead of the embedded store.',
  ),
  key_file: optional(
    absolutePath,
    '<state_dir>/store.key',
    'File with the key that encrypts the signing keys in the store. It is the same for all instances, and no backup contains it.',
  ),
  's3.url': optional(nullable(serviceUrl), null, 'Address of an S3 service for bundles.'),
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
    'Let hosts with transport `system` download bundles from the bucket; they must reach it and trust its certificate. For other hosts the service downloads.',
  ),
  secretstore_url: required(
    serviceUrl,
    'Base address of the secretstore: of OpenBao or Vault, or of the embedded one as hosts reach it.',
  ),
  'secretstore.listen': optional(
    nullable(listenAddress),
    null,
    'Address and port on which the service serves its embedded secretstore, instead of calling OpenBao or Vault at `secretstore_url`.',
  ),
  secretstore_ca: guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate authority of the secretstore, also sent to hosts; default: the authorities of the system.',
    ),
  ),
  secretstore_namespace: optional(nullable(singleLineName), null, 'Namespace of the secretstore.'),
  'mesh.controller_url': optional(
    nullable(serviceUrl),
    null,
    'Address of the OpenZiti controller that creates host identities; not needed without a mesh.',
  ),
  'mesh.controller_ca': guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate authority of the controller; default: the authorities of the system.',
    ),
  ),
  'mesh.credentials_file': optional(nullable(absolutePath), null, 'JSON file with `username` and `password`.'),
  'oidc.issuer_url': optional(
    nullable(serviceUrl),
    null,
    'Issuer of the OpenID provider for sign-in, exactly as the provider writes it; not needed without sign-in.',
  ),
  'oidc.issuer_ca': guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate authority of the provider; default: the authorities of the system.',
    ),
  ),
  'oidc.client_id': optional(nullable(singleLineName), null, 'Client id of the service at the provider.'),
  'oidc.client_secret_file': optional(nullable(absolutePath), null, 'File with the client secret, in one line.'),
  'oidc.scopes': optional(
    scopes,
    ['openid', 'profile', 'email'],
    'Scopes to request from the provider. Add `offline_access` if it issues refresh tokens only then, and `groups` if it knows that scope.',
  ),
  'oidc.name_claim': optional(singleLineName, 'email', 'Claim with the name of a person for the audit log.'),
  'oidc.groups_claim': optional(singleLineName, 'groups', 'Claim with the list of a person’s groups.'),
  'oidc.roles': optional(
    groupRoles,
    [],
    'Role of the members of a group, and the environments it is for. Members of several groups have the permissions of all of them.',
  ),
  'session.idle_s': optional(
    integer('seconds', minute, 7 * day),
    60 * minute,
    'Time without a request after which a session ends.',
  ),
  'session.lifetime_s': optional(
    integer('seconds', minute, 30 * day),
    day / 2,
    'Time after which a session ends in any case.',
  ),
  'session.recheck_s': optional(
    integer('seconds', minute, day),
    15 * minute,
    'Interval at which the service asks the provider for the groups of a person; without a refresh token the session ends then.',
  ),
  'kit.base_url': optional(
    nullable(serviceUrl),
    null,
    'Address from which hosts download the agent’s package; default: the service, if it has packages.',
  ),
  'kit.packages_dir': optional(
    absolutePath,
    '<state_dir>/packages',
    'Directory with packages of the agent, which the service hands out to hosts with an install kit.',
  ),
  'kit.version': optional(nullable(singleLineName), null, 'Version of the agent that new hosts install.'),
  'kit.download_token_file': optional(nullable(absolutePath), null, 'File with the bearer token for that download.'),
  'kit.secretstore_url': optional(
    nullable(serviceUrl),
    null,
    'Address of the secretstore for hosts; default: `secretstore_url`.',
  ),
  offline_after_s: optional(
    integer('seconds', minute, day),
    defaultOfflineAfterS,
    'Time without a check-in after which a host counts as offline; longer than the `interval_s` of every host. The default is the time that a host by default waits for containers, and for its next check-in.',
  ),
  laptop_offline_after_s: optional(
    integer('seconds', minute, 30 * day),
    laptopSilenceS,
    'Time without a check-in after which a laptop counts as offline.',
  ),
  retire_timeout_s: optional(
    integer('seconds', minute, 30 * day),
    day,
    'Time to wait for a silent host to take its services down, before its retirement continues without it.',
  ),
  secret_grace_s: optional(
    integer('seconds', 0, 365 * day),
    7 * day,
    'Time from the retirement of the last host of an environment to the destruction of its secrets, if the operator has made no choice; 0 destroys them at once.',
  ),
  keep_reports_days: optional(integer('days', 1, 3650), 90, 'Days to keep reports.'),
  keep_audit_days: optional(
    nullable(integer('days', 30, 36_500)),
    null,
    'Days to keep entries of the audit log; default: entries are never removed.',
  ),
  keep_bundles: optional(
    integer('bundles', 1, 10_000),
    20,
    'Number of newest bundles to keep for each environment, in addition to bundles that are desired or applied anywhere.',
  ),
  ...limitKeys,
  'webhooks.ca': optional(
    nullable(absolutePath),
    null,
    'PEM file with certificate authorities of webhook endpoints, in addition to the authorities of the system.',
  ),
  'webhooks.private_addresses': optional(
    trueOrFalse,
    false,
    'Permit webhooks to loopback, private and shared addresses; link-local addresses are never permitted.',
  ),
  'webhooks.timeout_s': optional(integer('seconds', 1, minute), 10, 'Timeout of a call to a webhook.'),
  'webhooks.first_retry_s': optional(
    integer('seconds', 1, 60 * minute),
    5,
    'Pause after the first failure of an endpoint; it doubles with each further failure.',
  ),
  'webhooks.longest_retry_s': optional(integer('seconds', 1, day), 60 * minute, 'Longest pause between two attempts.'),
  'webhooks.give_up_after_s': optional(
    integer('seconds', minute, 30 * day),
    day,
    'Age at which an undelivered event becomes a dead letter, and a rollout is halted if the webhook of its gate has not answered.',
  ),
  'webhooks.keep_dead_days': optional(integer('days', 1, 3650), 30, 'Days to keep dead letters.'),
  ...traceKeys,
  max_requests: optional(
    integer('requests', 1, 100_000),
    400,
    'Number of concurrent requests; further requests get 503 with a time to retry.',
  ),
  'log.level': optional(oneOf('error', 'warn', 'info', 'debug'), 'info', 'Lowest level of log lines to write.'),
});

/** The validated configuration of the tenancy service: its config.yaml merged with the defaults, frozen. */
export type TenancySettings = SettingsOf<typeof configTable.keys>;

/** Role of the members of a group of the OpenID provider. */
export type GroupRole = TenancySettings['oidc']['roles'][number];
