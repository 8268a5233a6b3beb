import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { type Check, checkClock, type Fact, inapplicableCheck, unknownCheck } from '../../core/doctor.rules.ts';
import { createJsonClient, type JsonAnswer } from '../../core/jsonClient.ts';
import { TransportError } from '../../core/http.rules.ts';
import { readKeyFile } from '../commands/keyFiles.ts';
import { CommandError, withCurrentStore } from '../commands/storeAccess.ts';
import { readTrustedAuthorities } from '../config/loadSettings.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { KeyError, type KeyRing, openKeyRing } from '../keys/keyRing.ts';
import { SignInError } from '../peers/identityProvider.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import {
  connectBundleStorage,
  connectIdentityProvider,
  connectMesh,
  connectSecretstore,
} from '../server/createTenancy.ts';
import { readTlsFiles, TlsFilesError } from '../server/startServer.ts';
import {
  type CertificateFacts,
  checkAttempt,
  checkCertificate,
  checkPublishedKeys,
  curlCommand,
} from './doctor.rules.ts';

/** Bounds of a request that only asks whether somebody is there. */
const probeBounds = { timeoutMs: 5000, maxBytes: 1_048_576, maxSockets: 1 };

/**
 * Checks what the service works with, by its own user: store, keys, peers and certificate. `publicCa` is the PEM file of the
 * authority for `public_url`, null for the system's.
 */
export async function checkService(settings: TenancySettings, publicCa: string | null): Promise<Check[]> {
  const { public_url: url } = settings;
  const store = await attempt(() => withCurrentStore(settings, async () => undefined));
  const keys = await attempt(() => readKeys(settings));
  const jwks = await attempt(() => get(url, '/.well-known/jwks.json', publicCa));
  const kids = 'known' in keys ? { known: kidsOf(keys.known.jwks()) } : keys;
  const storeFix = 'sudo deployd-tenancy migrate';
  return [
    checkAttempt('store', store, { target: settings.database_url_file ?? settings.state_dir, fix: storeFix }),
    checkAttempt('keys', keys, { target: settings.key_file, fix: `put the right key file at ${settings.key_file}` }),
    checkPublishedKeys(publishedKids(jwks), kids, { url, ca: publicCa }),
    checkCertificate(await attempt(() => readCertificate(settings)), new Date()),
    ...(await checkSecretstore(settings, keys)),
    await checkBundles(settings),
    await checkMesh(settings),
    await checkSignIn(settings),
  ];
}

function readKeys(settings: TenancySettings): Promise<KeyRing> {
  const keyFile = readKeyFile(settings.key_file);
  return withCurrentStore(settings, (store) => openKeyRing(store, keyFile));
}

async function get(baseUrl: string, path: string, ca: string | null): Promise<JsonAnswer> {
  const client = createJsonClient({ baseUrl, authorities: readTrustedAuthorities(ca), ...probeBounds });
  try {
    return await client.send({ method: 'GET', path });
  } finally {
    client.close();
  }
}

function publishedKids(answer: Fact<JsonAnswer>): Fact<string[]> {
  if ('unknown' in answer) return answer;
  const { status, json } = answer.known;
  return status === 200 ? { known: kidsOf(json) } : { unknown: `it answers ${status} to /.well-known/jwks.json` };
}

function kidsOf(jwks: unknown): string[] {
  const { keys } = Object(jwks) as { keys?: unknown };
  return Array.isArray(keys) ? keys.map((key) => String((Object(key) as { kid?: unknown }).kid)) : [];
}

function readCertificate({ tls, public_url }: TenancySettings): CertificateFacts | null {
  const { certificate_file: file, key_file: key } = tls;
  if (file === null || key === null) return null;
  const certificate = new X509Certificate(readTlsFiles({ certificate: file, key }).cert);
  const host = new URL(public_url).hostname.replace(/^\[(.*)\]$/, '$1');
  const fits = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  return { file, validTo: certificate.validToDate, host, fitsHost: fits !== undefined };
}

/** The secretstore is asked as the service, and for its time. */
async function checkSecretstore(settings: TenancySettings, keys: Fact<KeyRing>): Promise<Check[]> {
  const { secretstore_url: url, secretstore_ca: ca } = settings;
  const health = await attempt(() => get(url, '/v1/sys/health', ca));
  const date = 'known' in health ? Date.parse(health.known.headers.date ?? '') : NaN;
  const skewS = Math.round((Date.now() - date) / 1000);
  const clock = checkClock(Number.isNaN(skewS) ? [] : [skewS]);
  if ('unknown' in keys) return [unknownCheck('secretstore', 'the service has no keys to log in with'), clock];
  const login = await attempt(async () => {
    await using secretstore = closing(connectSecretstore(settings, { keys: () => keys.known, clock: Date.now }));
    await secretstore.peer.check();
  });
  return [
    checkAttempt('secretstore', login, { target: url, fix: 'sudo deployd-tenancy secretstore plan --token-file FILE' }),
    clock,
  ];
}

async function checkBundles(settings: TenancySettings): Promise<Check> {
  const { url, bucket, credentials_file } = settings.s3;
  const bundles = await attempt(() => connectBundleStorage(settings).check());
  if (url === null || bucket === null)
    return checkAttempt('bundles', bundles, { target: settings.state_dir, fix: `sudo ls -la ${settings.state_dir}` });
  return checkAttempt('bundles', bundles, { target: `${url}/${bucket}`, fix: `sudoedit ${credentials_file ?? ''}` });
}

async function checkMesh(settings: TenancySettings): Promise<Check> {
  const { controller_url: url, credentials_file } = settings.mesh;
  if (url === null) return inapplicableCheck('mesh', 'not configured');
  const login = await attempt(async () => {
    await using directory = closing(connectMesh(settings));
    await directory.peer?.check();
  });
  return checkAttempt('mesh', login, { target: url, fix: `sudoedit ${credentials_file ?? ''}` });
}

async function checkSignIn(settings: TenancySettings): Promise<Check> {
  const { issuer_url: url, issuer_ca: ca } = settings.oidc;
  if (url === null) return inapplicableCheck('sign-in', 'there is no OpenID provider in the configuration');
  const described = await attempt(() => connectIdentityProvider(settings)?.check());
  return checkAttempt('sign-in', described, {
    target: url,
    fix: curlCommand({ url: `${url.replace(/\/+$/, '')}/.well-known/openid-configuration`, ca }),
  });
}

/** A peer that is closed at the end of its scope. */
function closing<Peer extends { close: () => Promise<void> } | null>(peer: Peer) {
  return { peer, [Symbol.asyncDispose]: async () => peer?.close() };
}

const told = [TransportError, CommandError, ConfigInvalid, KeyError, PeerError, SignInError, TlsFilesError];

/** What a piece of work came to; an error that an operator can cure is a fact that is not known. */
async function attempt<T>(work: () => T | Promise<T>): Promise<Fact<T>> {
  try {
    return { known: await work() };
  } catch (error) {
    if (error instanceof Error && told.some((kind) => error instanceof kind)) return { unknown: error.message };
    throw error;
  }
}
