import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { fileFactsOf, ownerOf } from '../../core/accounts.ts';
import { type Authorities, parseAuthorities, pastTimes } from '../../core/certificateAuthorities.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import {
  type Check,
  checkClock,
  checkConfig,
  checkDiskSpace,
  checkStateDir,
  diagnosisJson,
  diagnosisOf,
  type Fact,
  formatDiagnosis,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import { filesystemsOf } from '../../core/files.ts';
import { TransportError } from '../../core/http.rules.ts';
import { createJsonClient, type JsonAnswer } from '../../core/httpClient.ts';
import { dropPrivileges, NotAllowed } from '../../core/process.ts';
import { secretstore, type SecretstoreOptions } from '../commands/secretstore.ts';
import { CommandError, type Output, readKeyFile, withCurrentStore } from '../commands/storeAccess.ts';
import { configTable, type TenancySettings } from '../config/configKeys.ts';
import { loadSettings, publicHostOf, readTrustedAuthorities } from '../config/loadSettings.ts';
import { KeyError, type KeyRing, openKeyRing } from '../keys/keyRing.ts';
import { findOwnCertificates } from '../keys/ownAuthority.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import { SignInError } from '../peers/identityProvider.ts';
import {
  connectBundleStorage,
  connectIdentityProvider,
  connectMesh,
  connectSecretstore,
} from '../server/createTenancy.ts';
import { readTlsFiles, TlsFilesError } from '../server/startServer.ts';
import { listCloned } from '../store/backends.ts';
import { listHeldEnvs } from '../store/envs.ts';
import {
  type CertificateFacts,
  checkAttempt,
  checkCertificate,
  checkClones,
  checkHeldEnvs,
  checkNamedFiles,
  checkPublishedKeys,
  checkSetup,
  curlCommand,
  storeFix,
} from './doctor.rules.ts';

/** Options of `deployd-tenancy doctor`; an administrator's token is used only to check the setup of the secretstore. */
interface DoctorOptions extends Omit<SecretstoreOptions, 'action'> {
  configPath: string;
  json: boolean;
}

/**
 * `deployd-tenancy doctor`: exits with 0 when every check passes, otherwise with 1, also for an invalid configuration.
 * Files are examined by the invoking user; all other checks run as the user of the service. doctor creates a missing
 * directory of bundles and changes nothing else.
 */
export async function doctor(options: DoctorOptions, out: Pick<Output, 'log'>): Promise<number> {
  const diagnosis = diagnosisOf(await runChecks(options));
  out.log(options.json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis));
  return diagnosis.passed ? 0 : 1;
}

async function runChecks(options: DoctorOptions): Promise<Check[]> {
  const { configPath } = options;
  const { settings, problems } = readConfig(configPath);
  const user = await serviceUserOf(settings?.state_dir ?? String(configTable.keys.state_dir.default));
  const config = checkConfig({ file: await fileFactsOf(configPath, user), problems }, user);
  if (settings === null) return [config, unknownCheck('service', 'its configuration is invalid')];
  const checks = [config, ...(await checkFiles(settings, user)), await planSetup(settings, options)];
  try {
    dropPrivileges(settings.state_dir, { program: packagedUser.name });
  } catch (error) {
    if (!(error instanceof NotAllowed)) throw error;
    return [...checks, unknownCheck('service', error.message)];
  }
  return [...checks, ...(await checkService(settings, options.jwksCaFile))];
}

function readConfig(path: string): { settings: TenancySettings | null; problems: string[] } {
  try {
    return { settings: loadSettings(path), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return { settings: null, problems: error.lines };
  }
}

async function planSetup(settings: TenancySettings, options: DoctorOptions): Promise<Check> {
  const { tokenFile, environment } = options;
  if (settings.secretstore.listen !== null) return inapplicableCheck('set-up', 'the secretstore is embedded');
  const hasToken = [tokenFile, environment['BAO_TOKEN'], environment['VAULT_TOKEN']].some(Boolean);
  if (!hasToken) return checkSetup(null, settings.secretstore_url);
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const exit = await secretstore(settings, { ...options, action: 'plan' }, { log, error: log });
  return checkSetup({ exit, lines }, settings.secretstore_url);
}

/** The user that the package creates, for a state directory that does not exist yet. */
const packagedUser: ProgramUser = { name: 'deployd-tenancy', uid: -1, gids: [] };

/** Bytes reserved for growth of the embedded store. */
const STORE_BYTES = 2 ** 28;

/** The user of the service: the owner of the state directory. */
async function serviceUserOf(stateDir: string): Promise<ProgramUser> {
  return (await ownerOf(stateDir)) ?? packagedUser;
}

/** Checks the state directory, the files that the configuration names, and the free disk space. */
async function checkFiles(settings: TenancySettings, user: ProgramUser): Promise<Check[]> {
  const { state_dir, limits } = settings;
  const named = await Promise.all(secretFilesOf(settings).map((path) => fileFactsOf(path, user)));
  // Room for a bundle that is pushed, unpacked and stored.
  const neededBytes = STORE_BYTES + 2 * limits.bundle_bytes + limits.unpacked_bytes;
  const filesystems = await filesystemsOf([state_dir]);
  return [
    checkStateDir({ dir: await fileFactsOf(state_dir, user), foreignEntries: [] }, user),
    checkNamedFiles(named, user),
    checkDiskSpace({ known: filesystems.map((each) => ({ ...each, neededBytes, purpose: 'state' })) }),
  ];
}

/** Files that hold secrets. */
function secretFilesOf({ key_file, database_url_file, s3, mesh, oidc, kit, tls }: TenancySettings): string[] {
  const credentials = [s3.credentials_file, mesh.credentials_file, oidc.client_secret_file];
  const others = [...credentials, kit.download_token_file, tls.key_file];
  return [key_file, database_url_file, ...others].filter((file) => file !== null);
}

/** Limits of a request that only checks whether a peer answers. */
const probeBounds = { timeoutMs: 5000, maxBytes: 1_048_576, maxSockets: 1 };

/**
 * Checks the service's dependencies as its user: store, keys, peers and certificate. `publicCa` is the PEM file of the
 * certificate authority for `public_url`, null for the system's.
 */
async function checkService(settings: TenancySettings, publicCa: string | null): Promise<Check[]> {
  const { public_url: url } = settings;
  const store = await attempt(() => withCurrentStore(settings, (open) => listCloned(open, null)));
  const keys = await attempt(() => readKeys(settings));
  const jwks = await attempt(async () => get(url, '/.well-known/jwks.json', await authoritiesOf(settings, publicCa)));
  const kids = 'known' in keys ? { known: kidsOf(keys.known.jwks()) } : keys;
  const storePlace = settings.database_url_file;
  const storeUnusable = storePlace === null ? `sudo ls -la ${settings.state_dir}` : `sudoedit ${storePlace}`;
  return [
    checkAttempt('store', store, { target: storePlace ?? settings.state_dir, fix: storeFix(store, storeUnusable) }),
    checkHeldEnvs(await attempt(() => withCurrentStore(settings, listHeldEnvs))),
    checkAttempt('keys', keys, {
      target: settings.key_file,
      fix: storeFix(store, storeFix(keys, `put the right key file at ${settings.key_file}`)),
    }),
    checkClones(store),
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

/** The authorities for `public_url`: of the file, or the service's own one, or of the system. */
async function authoritiesOf(settings: TenancySettings, file: string | null): Promise<Authorities> {
  const isOwn = file === null && settings.tls.own_authority;
  const own = isOwn ? parseAuthorities((await storedCertificates(settings)).authority) : null;
  return own ?? readTrustedAuthorities(file);
}

async function get(baseUrl: string, path: string, authorities: Authorities): Promise<JsonAnswer> {
  const client = createJsonClient({ baseUrl, authorities, ...probeBounds });
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

async function readCertificate(settings: TenancySettings): Promise<CertificateFacts | null> {
  const { certificate_file: file, key_file: key, own_authority: isOwn } = settings.tls;
  const pem = file !== null && key !== null ? readTlsFiles({ certificate: file, key }).cert : null;
  const presented = pem ?? (isOwn ? (await storedCertificates(settings)).server : null);
  if (presented === null) return null;
  const certificate = new X509Certificate(presented);
  const host = publicHostOf(settings);
  const fits = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  return { file, validTo: certificate.validToDate, host, fitsHost: fits !== undefined };
}

async function storedCertificates(settings: TenancySettings): Promise<{ authority: string; server: string }> {
  const stored = await withCurrentStore(settings, findOwnCertificates);
  if (stored === null) throw new CommandError('the service has not made its certificate yet: start it');
  return stored;
}

/** Calls the secretstore as the service, and compares its time. */
async function checkSecretstore(settings: TenancySettings, keys: Fact<KeyRing>): Promise<Check[]> {
  const { secretstore_url: url } = settings;
  const health = await attempt(async () => get(url, '/v1/sys/health', await secretstoreAuthorities(settings)));
  const date = 'known' in health ? Date.parse(health.known.headers.date ?? '') : NaN;
  const skewS = Math.round((Date.now() - date) / 1000);
  const clock = checkClock(Number.isNaN(skewS) ? [] : [skewS], { now: new Date(), pastTimes: pastTimes() });
  const isEmbedded = settings.secretstore.listen !== null;
  const plan = 'sudo deployd-tenancy secretstore plan --token-file FILE';
  const fix = isEmbedded ? 'systemctl status deployd-tenancy' : plan;
  if ('unknown' in keys) return [unknownCheck('secretstore', 'the service has no keys to log in with'), clock];
  const login = await attempt(async () => {
    const authorities = await secretstoreAuthorities(settings);
    const identity = { keys: () => keys.known, clock: Date.now };
    await using secretstore = closing(connectSecretstore(settings, identity, authorities));
    await secretstore.peer.check();
    await secretstore.peer.checkPolicy();
  });
  return [checkAttempt('secretstore', login, { target: url, fix }), clock];
}

/** The embedded secretstore has the certificate of the service. */
async function secretstoreAuthorities(settings: TenancySettings): Promise<Authorities> {
  const { secretstore, secretstore_ca, tls } = settings;
  const isOwn = secretstore.listen !== null && secretstore_ca === null && tls.own_authority;
  const own = isOwn ? parseAuthorities((await storedCertificates(settings)).authority) : null;
  return own ?? readTrustedAuthorities(secretstore_ca);
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

/** Runs `work` and returns its result. For an error that an operator can fix, returns an unknown fact. */
async function attempt<T>(work: () => T | Promise<T>): Promise<Fact<T>> {
  try {
    return { known: await work() };
  } catch (error) {
    if (error instanceof Error && told.some((kind) => error instanceof kind)) return { unknown: error.message };
    throw error;
  }
}
