import { isUnencrypted, withoutTrailingSlash } from '../../config/addresses.ts';
import type { KeyProblem } from '../../config/configInvalid.ts';
import type { KeyOrder } from '../../config/keyOrder.ts';
import { traceProblems } from '../../config/traceKeys.ts';
import { defaultIntervalS, longestPauseS } from '../../protocol/checkInTimes.ts';
import { isLoopback } from '../../protocol/loopback.ts';
import { configKeys } from './configKeys.ts';
import type { TenancySettings } from './settings.ts';

/** Keys of which one bounds the other. */
export const keyOrders: readonly KeyOrder[] = [
  {
    ...{ lower: 'offline_after_s', upper: 'laptop_offline_after_s', least: longestPauseS(defaultIntervalS) },
    reason: 'a laptop may be silent for at least as long as a server',
  },
  {
    ...{ lower: 'offline_after_s', upper: 'retire_timeout_s', least: longestPauseS(defaultIntervalS) },
    reason: 'else the retirement of a host that checks in goes on before the host is taken down',
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
