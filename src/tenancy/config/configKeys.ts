import {
  absolutePath,
  envId,
  integer,
  isUnencrypted,
  nullable,
  oneOf,
  serviceUrl,
  singleLineName,
  trueOrFalse,
  type ValueType,
  withoutTrailingSlash,
} from '../../core/config/valueTypes.ts';
import {
  type ConfigKey,
  type DottedKey,
  type KeyProblem,
  keyTableOf,
  optional,
  required,
} from '../../core/config/keyTable.ts';
import type { KeyOrder } from '../../core/config/keyValidation.ts';
import { limitKeys, traceKeys, traceProblems } from '../../core/config/sharedKeys.ts';
import { defaultIntervalS, defaultOfflineAfterS, laptopSilenceS, longestPauseS } from '../../api/checkIn.rules.ts';
import { isLoopback } from '../../core/http.rules.ts';
import { listenAddress, type TenancySettings } from './settings.ts';

const maxRoles = 100;
const name = { type: 'string', pattern: '^[^\\p{Cc}]{1,253}$' };

/** The roles of groups. */
const groupRoles: ValueType = {
  schema: {
    type: 'array',
    maxItems: maxRoles,
    uniqueItems: true,
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['group', 'role'],
      properties: {
        group: name,
        role: { type: 'string', enum: ['viewer', 'deployer', 'admin'] },
        envs: { type: 'array', items: envId.schema, minItems: 1, maxItems: 100, uniqueItems: true },
      },
    },
  },
  allowed: `a list of at most ${maxRoles} of {group, role, envs}: role is one of viewer, deployer, admin; envs, which may be left out, are names of envs`,
};

/** Scopes of OAuth, none twice. */
const scopes: ValueType = {
  schema: { type: 'array', items: { type: 'string', pattern: '^[!#-\\[\\]-~]+$' }, minItems: 1, uniqueItems: true },
  allowed: 'a list of scopes, none twice',
};

const minute = 60;
const day = 24 * 60 * minute;

/** Every key of the tenancy service's config.yaml: the one source of the defaults, the validation and docs/tenancy-config.md. */
export const configKeys: Readonly<Record<DottedKey<TenancySettings>, ConfigKey>> = {
  public_url: required(
    serviceUrl,
    'Base address of the service for hosts and operators; also the issuer of its grants and leases.',
  ),
  listen: optional(
    listenAddress,
    '127.0.0.1:8443',
    'Address and port to listen on; `[::]` means all addresses of the machine.',
  ),
  'tls.certificate_file': optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate chain, read again when it changes; not needed behind a proxy on this machine.',
  ),
  'tls.key_file': optional(nullable(absolutePath), null, 'PEM file with the private key.'),
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
    'Let hosts with transport `system` download from the bucket, which they must reach and trust; for other hosts the service downloads.',
  ),
  secretstore_url: required(serviceUrl, 'Base address of the secretstore.'),
  secretstore_ca: optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate authority of the secretstore, also sent to hosts; default: the authorities of the system.',
  ),
  secretstore_namespace: optional(nullable(singleLineName), null, 'Namespace of the secretstore.'),
  'mesh.controller_url': optional(
    nullable(serviceUrl),
    null,
    'Address of the OpenZiti controller that creates host identities; not needed without a mesh.',
  ),
  'mesh.controller_ca': optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate authority of the controller; default: the authorities of the system.',
  ),
  'mesh.credentials_file': optional(nullable(absolutePath), null, 'JSON file with `username` and `password`.'),
  'oidc.issuer_url': optional(
    nullable(serviceUrl),
    null,
    'Issuer of the OpenID provider for sign-in, exactly as the provider writes it; not needed without sign-in.',
  ),
  'oidc.issuer_ca': optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate authority of the provider; default: the authorities of the system.',
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
  'kit.base_url': optional(nullable(serviceUrl), null, 'Address from which hosts download the agent’s package.'),
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
  laptop_offline_after_s: optional(integer('seconds', minute, 30 * day), laptopSilenceS, 'The same for a laptop.'),
  retire_timeout_s: optional(
    integer('seconds', minute, 30 * day),
    day,
    'Time to wait for a silent host to take its services down, before its retirement continues without it.',
  ),
  keep_reports_days: optional(integer('days', 1, 3650), 90, 'Days to keep reports.'),
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
    'Age at which an undelivered event becomes a dead letter, and a gate without an answer halts its rollout.',
  ),
  'webhooks.keep_dead_days': optional(integer('days', 1, 3650), 30, 'Days to keep dead letters.'),
  ...traceKeys,
  max_requests: optional(
    integer('requests', 1, 100_000),
    400,
    'Number of concurrent requests; further requests get 503 with a time to retry.',
  ),
  'log.level': optional(oneOf('error', 'warn', 'info', 'debug'), 'info', 'Lowest level of log lines to write.'),
};

/** The keys with their sections. */
export const configTable = keyTableOf(configKeys);

/** Keys of which one bounds the other. */
export const keyOrders: readonly KeyOrder[] = [
  {
    ...{ lower: 'offline_after_s', upper: 'laptop_offline_after_s', least: longestPauseS(defaultIntervalS) },
    reason: 'a laptop may be silent for at least as long as a server',
  },
  {
    ...{ lower: 'offline_after_s', upper: 'retire_timeout_s', least: longestPauseS(defaultIntervalS) },
    reason: 'otherwise the retirement of a host that checks in continues before the host is taken down',
  },
  {
    ...{ lower: 'session.idle_s', upper: 'session.lifetime_s' },
    reason: 'a session ends after lifetime_s in any case',
  },
  {
    ...{ lower: 'session.recheck_s', upper: 'session.lifetime_s' },
    reason: 'else the groups of a person are never checked again',
  },
  {
    ...{ lower: 'webhooks.first_retry_s', upper: 'webhooks.longest_retry_s' },
    reason: 'pauses grow from the first to the longest',
  },
  {
    ...{ lower: 'webhooks.first_retry_s', upper: 'webhooks.give_up_after_s' },
    reason: 'else an event is given up before it is tried again',
  },
];

type Valid = Partial<TenancySettings>;

/** Keys that are given together or not at all. */
const groups = [
  ['tls', 'certificate_file', 'key_file'],
  ['s3', 'url', 'bucket', 'credentials_file'],
  ['mesh', 'controller_url', 'credentials_file'],
  ['oidc', 'issuer_url', 'client_id', 'client_secret_file'],
] as const;

/** Problems of several keys together: incomplete groups, and connections that nothing encrypts. */
export function validateCombinations(valid: Valid): KeyProblem[] {
  return [
    ...incompleteGroups(valid),
    ...unencryptedListen(valid),
    ...unencryptedUrls(valid),
    ...redirectProblems(valid),
    ...signInProblems(valid),
    ...traceProblems(valid.traces),
  ];
}

/** Strips the trailing slashes of every address. */
export function normalizeAddresses(settings: TenancySettings): TenancySettings {
  const stripped = (url: string | null) => url && withoutTrailingSlash(url);
  const { public_url, secretstore_url, s3, mesh, kit } = settings;
  return {
    ...settings,
    public_url: withoutTrailingSlash(public_url),
    secretstore_url: withoutTrailingSlash(secretstore_url),
    s3: { ...s3, url: stripped(s3.url) },
    mesh: { ...mesh, controller_url: stripped(mesh.controller_url) },
    kit: { ...kit, base_url: stripped(kit.base_url), secretstore_url: stripped(kit.secretstore_url) },
  };
}

function incompleteGroups(valid: Valid): KeyProblem[] {
  return groups.flatMap(([section, ...names]) => {
    const values = valid[section] as Record<string, unknown> | undefined;
    const given = names.filter((name) => values?.[name]);
    if (given.length === 0) return [];
    const missing = names.filter((name) => !given.includes(name));
    return missing.map((name) => ({
      key: `${section}.${name}`,
      message: `is required beside ${section}.${given.join(` and ${section}.`)}`,
    }));
  });
}

/** Hosts follow no redirect to http://, and keep their bearer from other origins only; a bucket refuses it beside a link. */
function redirectProblems({ s3, public_url }: Valid): KeyProblem[] {
  if (s3?.redirect !== true) return [];
  const key = 's3.redirect';
  if (s3.url === null) return [{ key, message: 'needs s3.url' }];
  const { protocol, origin } = new URL(s3.url);
  if (public_url === undefined || (protocol === 'https:' && origin !== new URL(public_url).origin)) return [];
  const message = 'needs an https:// s3.url of another origin than public_url, which hosts send their bearer to';
  return [{ key, message }];
}

/** Who signs in needs a role, a cookie that browsers keep for https only, and the addresses of the console as they are. */
function signInProblems({ oidc, public_url }: Valid): KeyProblem[] {
  if (!oidc?.issuer_url) return [];
  const nobody = oidc.roles.length === 0;
  const isPlain = public_url?.startsWith('http://') ?? false;
  const hasPath = public_url !== undefined && new URL(public_url).pathname !== '/';
  return [
    ...(oidc.issuer_url.startsWith('http://')
      ? [{ key: 'oidc.issuer_url', message: `must be ${configKeys['oidc.issuer_url'].allowed}` }]
      : []),
    ...(nobody
      ? [{ key: 'oidc.roles', message: 'must name a group beside oidc.issuer_url: nobody could sign in' }]
      : []),
    ...(oidc.scopes.includes('openid') ? [] : [{ key: 'oidc.scopes', message: 'must have `openid`' }]),
    ...(isPlain
      ? [{ key: 'oidc.issuer_url', message: 'needs an https:// public_url, for the cookie of a session' }]
      : []),
    ...(hasPath
      ? [
          {
            key: 'oidc.issuer_url',
            message: 'needs a public_url without a path: the console is at /console/ of its host',
          },
        ]
      : []),
  ];
}

function unencryptedListen({ listen, tls }: Valid): KeyProblem[] {
  if (listen === undefined || tls === undefined || tls.certificate_file !== null) return [];
  if (isLoopback(listen.slice(0, listen.lastIndexOf(':')))) return [];
  const message =
    'must be a loopback address, such as 127.0.0.1:8443, or tls.certificate_file and tls.key_file be given';
  return [{ key: 'listen', message }];
}

function unencryptedUrls({ public_url, secretstore_url, s3, mesh }: Valid): KeyProblem[] {
  const urls = { public_url, secretstore_url, 's3.url': s3?.url, 'mesh.controller_url': mesh?.controller_url } as const;
  const wrong = (Object.keys(urls) as (keyof typeof urls)[]).filter((key) => isUnencrypted(urls[key]));
  return wrong.map((key) => ({ key, message: `must be ${configKeys[key].allowed}; http:// is allowed to loopback` }));
}
