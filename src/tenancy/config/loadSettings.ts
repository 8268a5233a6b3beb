import { defaultIntervalS, longestPauseS } from '../../api/checkIn.rules.ts';
import { isUnencrypted, type KeyOrder, traceProblems, withoutTrailingSlash } from '../../core/config/combinations.ts';
import { isLoopback } from '../../core/http.rules.ts';
import { certificateProblems, deepFreeze, readConfigFile } from '../../core/config/configFile.ts';
import { ConfigInvalid, type KeyProblem } from '../../core/config/keyTable.ts';
import { type Authorities, readAuthorities } from '../../core/certificateAuthorities.ts';
import { readRegularFile } from '../../core/files.ts';
import { isObject } from '../../core/json.rules.ts';
import { configTable, type TenancySettings } from './configKeys.ts';
import { validate } from './configValidator.ts';

/** Pairs of keys whose values limit each other. */
const keyOrders: readonly KeyOrder[] = [
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

/** Keys that must be given together or not at all. */
const groups = [
  ['tls', 'certificate_file', 'key_file'],
  ['s3', 'url', 'bucket', 'credentials_file'],
  ['mesh', 'controller_url', 'credentials_file'],
  ['oidc', 'issuer_url', 'client_id', 'client_secret_file'],
] as const;

/** Checks combinations of keys: incomplete groups and unencrypted connections. */
function validateCombinations(valid: Valid): KeyProblem[] {
  return [
    ...incompleteGroups(valid),
    ...unencryptedListen('listen', valid.listen, valid),
    ...unencryptedListen('secretstore.listen', valid.secretstore?.listen, valid),
    ...embeddedProblems(valid),
    ...twoCertificates(valid),
    ...unencryptedUrls(valid),
    ...redirectProblems(valid),
    ...signInProblems(valid),
    ...traceProblems(configTable, valid.traces),
  ];
}

/** Strips the trailing slashes of every address. */
function normalizeAddresses(settings: TenancySettings): TenancySettings {
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

/**
 * Hosts follow no redirect to http://, and do not send their bearer token to another origin; on the same origin, a
 * bucket rejects a bearer token next to a link.
 */
function redirectProblems({ s3, public_url }: Valid): KeyProblem[] {
  if (s3?.redirect !== true) return [];
  const key = 's3.redirect';
  if (s3.url === null) return [{ key, message: 'needs s3.url' }];
  const { protocol, origin } = new URL(s3.url);
  if (public_url === undefined || (protocol === 'https:' && origin !== new URL(public_url).origin)) return [];
  const message = 'needs an https:// s3.url of another origin than public_url, which hosts send their bearer to';
  return [{ key, message }];
}

/** Sign-in needs a role, a cookie that browsers keep only with https, and console addresses without a path prefix. */
function signInProblems({ oidc, public_url }: Valid): KeyProblem[] {
  if (!oidc?.issuer_url) return [];
  const nobody = oidc.roles.length === 0;
  const isPlain = public_url?.startsWith('http://') ?? false;
  const hasPath = public_url !== undefined && new URL(public_url).pathname !== '/';
  return [
    ...(oidc.issuer_url.startsWith('http://')
      ? [{ key: 'oidc.issuer_url', message: `must be ${configTable.keys['oidc.issuer_url'].allowed}` }]
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

/** The embedded secretstore has its own address, and no namespaces. */
function embeddedProblems({ listen, secretstore, secretstore_namespace: namespace }: Valid): KeyProblem[] {
  if (!secretstore?.listen) return [];
  return [
    ...(secretstore.listen === listen
      ? [{ key: 'secretstore.listen', message: 'must have another port than listen' }]
      : []),
    ...(namespace
      ? [{ key: 'secretstore_namespace', message: 'must be left out: the embedded secretstore has no namespaces' }]
      : []),
  ];
}

function unencryptedListen(key: string, listen: string | null | undefined, { tls }: Valid): KeyProblem[] {
  if (!listen || tls === undefined || tls.certificate_file !== null || tls.own_authority) return [];
  if (isLoopback(listen.slice(0, listen.lastIndexOf(':')))) return [];
  const message =
    'must be a loopback address, such as 127.0.0.1:8443, or tls.certificate_file and tls.key_file or tls.own_authority be given';
  return [{ key, message }];
}

function twoCertificates({ tls }: Valid): KeyProblem[] {
  if (!tls?.own_authority || tls.certificate_file === null) return [];
  return [{ key: 'tls.own_authority', message: 'must be false, or tls.certificate_file and tls.key_file be removed' }];
}

function unencryptedUrls({ public_url, secretstore_url, s3, mesh }: Valid): KeyProblem[] {
  const urls = { public_url, secretstore_url, 's3.url': s3?.url, 'mesh.controller_url': mesh?.controller_url } as const;
  const wrong = (Object.keys(urls) as (keyof typeof urls)[]).filter((key) => isUnencrypted(urls[key]));
  return wrong.map((key) => ({
    key,
    message: `must be ${configTable.keys[key].allowed}; http:// is allowed to loopback`,
  }));
}

/** The host name or address in `public_url`, without brackets and without a dot at its end. */
export function publicHostOf({ public_url }: Pick<TenancySettings, 'public_url'>): string {
  return new URL(public_url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Splits a listen address; `host` has no brackets. */
export function parseListenAddress(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: listen.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(listen.slice(colon + 1)) };
}

const configFormat = {
  table: configTable,
  validate,
  example: 'public_url: https://tenancy.example',
  readers: 'it belongs to root and group deployd-tenancy with mode 0640, so run as root or deployd-tenancy',
  naming: 'with --config',
  orders: keyOrders,
};

/** Loads config.yaml into frozen settings; throws ConfigInvalid with all problems. */
export function loadSettings(path: string): TenancySettings {
  const { valid, settingsUnless } = readConfigFile<TenancySettings>(path, configFormat);
  const settings = settingsUnless([
    ...validateCombinations(valid),
    ...certificateProblems('secretstore_ca', valid.secretstore_ca),
    ...certificateProblems('mesh.controller_ca', valid.mesh?.controller_ca),
    ...certificateProblems('oidc.issuer_ca', valid.oidc?.issuer_ca),
  ]);
  return deepFreeze(normalizeAddresses(settings));
}

/** Largest size in bytes of a file that a key names. */
const MAX_BYTES = 65_536;

/**
 * Reads the URL of the PostgreSQL database from a file; throws ConfigInvalid. The error never contains any part of the
 * file.
 */
export function readDatabaseUrl(file: string): string {
  const url = readText(file);
  if (/^postgres(ql)?:\/\/\S+$/.test(url)) return url;
  throw invalid(file, 'must hold a postgresql:// URL in one line');
}

/** Reads a token from a file, on one line; throws ConfigInvalid. */
export function readToken(file: string): string {
  const token = readText(file);
  if (/^\S+$/.test(token)) return token;
  throw invalid(file, 'must hold a token in one line');
}

/** Reads texts by name from a JSON object in a file, such as a user and a password; throws ConfigInvalid. */
export function readCredentials<Name extends string>(file: string, ...names: Name[]): Record<Name, string> {
  const values = parseObject(readText(file));
  const entries = names.map((name) => [name, values?.[name]] as const);
  if (entries.every(([, value]) => typeof value === 'string' && value !== ''))
    return Object.fromEntries(entries) as Record<Name, string>;
  throw invalid(file, `must be a JSON object with ${names.join(' and ')}`);
}

/** Reads the public keys (PEM) in a file; throws ConfigInvalid. */
export function readPublicKeys(file: string): string[] {
  const pems = readText(file).match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g);
  if (pems !== null) return pems;
  throw invalid(file, 'must hold public keys in PEM');
}

/** Reads the certificate authorities in a PEM file, or the system's; throws ConfigInvalid. */
export function readTrustedAuthorities(file: string | null): Authorities {
  try {
    return readAuthorities(file);
  } catch (error) {
    throw invalid(file ?? "the system's authorities", (error as Error).message);
  }
}

/** Reads the bytes of a file; throws ConfigInvalid. */
export function readBytes(file: string): Buffer {
  try {
    return readRegularFile(file, MAX_BYTES);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw invalid(file, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`);
  }
}

function readText(file: string): string {
  return readBytes(file).toString('utf8').trim();
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function invalid(file: string, message: string): ConfigInvalid {
  return new ConfigInvalid(file, [{ line: null, key: '', message }]);
}
