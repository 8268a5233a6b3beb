import { hostname } from 'node:os';
import type { Authorities } from '../../core/certificateAuthorities.ts';
import { monotonicMs } from '../../core/clock.ts';
import type { SpanQueue } from '../../core/sendSpans.ts';
import { version } from '../../core/commandLine.ts';
import type { KitDependencies } from '../backends/kit.ts';
import { type Limiter, limitLookUps, lookUpPlaces } from '../core/limiter.ts';
import { createArchiveWorkers, limitComparisons, type RunArchiveTask } from '../bundles/archiveWorkers.ts';
import { publicHostOf, readBytes, readCredentials, readToken, readTrustedAuthorities } from '../config/loadSettings.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { countRefusals } from '../core/audit.ts';
import { ChangeFeed } from '../core/changeFeed.ts';
import { type StoreWatch, watchStore } from '../backends/restore.ts';
import type { LogLine } from '../core/log.ts';
import { type BearerCounts, createBearerCache, type LookUpBearer } from '../keys/bearerCache.ts';
import { ownIdentity, pinOf } from '../keys/ownAuthority.ts';
import {
  createSealer,
  followKeyRing,
  type KeyRing,
  type Sealer,
  signServiceLogin,
  verifiedClaims,
} from '../keys/keyRing.ts';
import { createS3Storage } from '../peers/bundleBucket.ts';
import { bundleDirectoryOf, type BundleStorage, createDirectoryStorage } from '../peers/bundleStorage.ts';
import { type IdentityProvider, openIdentityProvider } from '../peers/identityProvider.ts';
import { type MeshDirectory, openMeshDirectory, type OpenMeshDirectory } from '../peers/meshDirectory.ts';
import { openSecretstore, type OpenSecretstore, type Secretstore } from '../peers/secretstore.ts';
import { createPostWebhook, type PostWebhook } from '../peers/postWebhook.ts';
import { callbackPath, signedOutPath } from '../people/sessions.ts';
import { embeddedMount } from '../secrets/setup.rules.ts';
import type { CallDependencies } from '../secretstore/calls.ts';
import { proveKeyFile, type SecretRecords } from '../secretstore/records.ts';
import { openEmbedded } from '../secretstore/server.ts';
import type { Store } from '../store/openStore.ts';

/** The parts that exist before the service is built. */
interface OpenedParts {
  /** A store of this version; the caller closes it. */
  store: Store;
  keyFile: Uint8Array;
  log: LogLine;
}

/** The parts of the service. Only the folder `server` knows all of them; each topic declares its dependencies. */
export interface TenancyParts {
  readonly settings: TenancySettings;
  readonly version: string;
  readonly store: Store;
  readonly keys: () => KeyRing;
  readonly lookUpBearer: LookUpBearer;
  readonly bearerCounts: Readonly<BearerCounts>;
  readonly secretstore: Secretstore;
  readonly bundles: BundleStorage;
  readonly limitComparisons: Limiter;
  readonly runArchiveTask: RunArchiveTask;
  readonly postWebhook: PostWebhook;
  readonly sealer: Sealer;
  readonly mesh: MeshDirectory | null;
  readonly identityProvider: IdentityProvider | null;
  readonly kit: KitDependencies['kit'];
  readonly ownAuthority: KitDependencies['ownAuthority'];
  readonly clock: () => number;
  readonly startedAt: number;
  readonly log: LogLine;
  readonly spans: SpanQueue | null;
  readonly changes: ChangeFeed;
  readonly watch: StoreWatch;
}

/** The service without its HTTP interface and its background work. */
export interface Tenancy {
  parts: TenancyParts;
  /** The embedded secretstore; null if OpenBao or Vault is used. */
  embedded: CallDependencies | null;
  /** Closes all connections, and revokes the service's token at the secretstore if possible. */
  close: () => Promise<void>;
}

/** Builds the service: settings → adapters → parts. Throws ConfigInvalid and KeyError; does not call any peer. */
export async function createTenancy(settings: TenancySettings, { store, keyFile, log }: OpenedParts): Promise<Tenancy> {
  const clock = Date.now;
  const bundles = connectBundleStorage(settings);
  const mesh = connectMesh(settings);
  const identityProvider = connectIdentityProvider(settings);
  const kit = readKitFiles(settings);
  const spans = await connectCollector(settings, log);
  const onError = (error: unknown) => log('error', `the signing keys cannot be read again: ${String(error)}`);
  const keys = await followKeyRing({ store, keyFile, onError });
  const embedded = await embeddedOf(settings, { store, keyFile, clock, keys: keys.current });
  const secretstore =
    embedded === null ? connectSecretstore(settings, { keys: keys.current, clock }) : openEmbedded(embedded);
  const archiveWorkers = createArchiveWorkers();
  const sealer = createSealer(keyFile);
  const bearerCounts = { hits: 0, misses: 0 };
  const lookUp = limitLookUps(secretstore.lookUpToken, lookUpPlaces(settings.max_requests));
  const parts: TenancyParts = {
    ...{ settings, version, store, secretstore, bundles, mesh, kit, clock, log, spans, bearerCounts },
    startedAt: clock(),
    changes: new ChangeFeed({ store, onError: (error) => log('warn', `changes are not seen: ${String(error)}`) }),
    watch: embedded === null ? watchStore({ store, secretstore, clock, log }) : noWatch,
    limitComparisons: limitComparisons(),
    runArchiveTask: archiveWorkers.run,
    postWebhook: connectWebhooks(settings),
    sealer,
    ownAuthority: async () => {
      if (!settings.tls.own_authority) return null;
      const { authority, cert } = await ownIdentity({ store, sealer, host: publicHostOf(settings), now: clock() });
      return { authority, pin: pinOf(cert) };
    },
    identityProvider,
    keys: keys.current,
    lookUpBearer: createBearerCache(lookUp, monotonicMs, bearerCounts),
  };
  const close = async () => {
    await countRefusals(parts).catch(() => undefined);
    await keys.stop();
    await Promise.all([archiveWorkers.close(), secretstore.close(), mesh?.close(), spans?.close()]);
  };
  return { parts, embedded, close };
}

/** Marks in the embedded secretstore would be restored together with the store, and show nothing. */
const noWatch: StoreWatch = { first: async () => undefined, look: async () => undefined };

/** The embedded secretstore of the settings; null without one. Throws KeyError if the key file does not match. */
async function embeddedOf(
  { secretstore, public_url }: TenancySettings,
  { keys, ...records }: SecretRecords & { keys: () => KeyRing },
): Promise<CallDependencies | null> {
  if (secretstore.listen === null) return null;
  await proveKeyFile(records);
  return { ...records, mount: embeddedMount(public_url), verifyJwt: (jwt) => verifiedClaims(keys(), jwt) };
}

function readKitFiles({ secretstore_ca, kit }: TenancySettings): KitDependencies['kit'] {
  const { download_token_file: tokenFile } = kit;
  return {
    secretstoreCa: secretstore_ca && readBytes(secretstore_ca).toString('utf8'),
    downloadToken: tokenFile && readToken(tokenFile),
  };
}

/** Seconds in which the JWT of a login can be used. */
const LOGIN_LIFETIME_S = 60;

/** The keys and the name with which the service authenticates to the secretstore. */
interface ServiceIdentity {
  keys: () => KeyRing;
  /** Milliseconds since 1970. */
  clock: () => number;
}

/** Opens the secretstore of the settings; makes no call before the first use. Throws ConfigInvalid. */
export function connectSecretstore(
  settings: TenancySettings,
  { keys, clock }: ServiceIdentity,
  authorities: Authorities = readTrustedAuthorities(settings.secretstore_ca),
): OpenSecretstore {
  const { public_url: issuer, secretstore_url: url, secretstore_namespace: namespace } = settings;
  const signLogin = async (audience: string) =>
    (await signServiceLogin(keys(), { issuer, audience, lifetimeS: LOGIN_LIFETIME_S, now: clock() })).jwt;
  return openSecretstore({ url, authorities, namespace, signLogin, clock: monotonicMs });
}

/** Opens the bundle storage of the settings: the bucket, otherwise the directory. Throws ConfigInvalid. */
export function connectBundleStorage({ s3, state_dir }: Pick<TenancySettings, 's3' | 'state_dir'>): BundleStorage {
  const { url, bucket, region, credentials_file, redirect: givesLinks } = s3;
  if (url === null || bucket === null || credentials_file === null)
    return createDirectoryStorage(bundleDirectoryOf(state_dir));
  const given = readCredentials(credentials_file, 'access_key_id', 'secret_access_key');
  const credentials = { accessKeyId: given.access_key_id, secretAccessKey: given.secret_access_key };
  const authorities = readTrustedAuthorities(null);
  return createS3Storage({ url, bucket, region, credentials, authorities, givesLinks });
}

/** Opens the mesh directory of the settings; null without a mesh. Throws ConfigInvalid. */
export function connectMesh({ mesh }: Pick<TenancySettings, 'mesh'>): OpenMeshDirectory | null {
  const { controller_url: controllerUrl, controller_ca, credentials_file } = mesh;
  if (controllerUrl === null || credentials_file === null) return null;
  const { username, password } = readCredentials(credentials_file, 'username', 'password');
  return openMeshDirectory({ controllerUrl, username, password, authorities: readTrustedAuthorities(controller_ca) });
}

/** Returns the function that sends webhooks with the settings. Throws ConfigInvalid. */
export function connectWebhooks({ webhooks }: Pick<TenancySettings, 'webhooks'>): PostWebhook {
  const { ca, timeout_s, private_addresses: allowsPrivate } = webhooks;
  const own = ca === null ? [] : readTrustedAuthorities(ca);
  const authorities = [...readTrustedAuthorities(null), ...own] as Authorities;
  return createPostWebhook({ authorities, timeoutMs: timeout_s * 1000, allowsPrivate });
}

/**
 * Opens the connection to the trace collector of the settings, and loads its dependencies; null without a collector.
 * Throws ConfigInvalid.
 */
export async function connectCollector(
  { traces }: Pick<TenancySettings, 'traces'>,
  log: LogLine,
): Promise<SpanQueue | null> {
  const { otlp_endpoint: endpoint, ca } = traces;
  if (endpoint === null) return null;
  const { createSendSpans } = await import('../../core/sendSpans.ts');
  const { SpanQueue } = await import('../../core/sendSpans.ts');
  const source = { program: 'deployd-tenancy', version, attributes: { 'host.name': hostname() } };
  const send = createSendSpans({ endpoint, readAuthorities: () => readTrustedAuthorities(ca) }, source);
  return new SpanQueue(send, (reason) => {
    if (reason === null) log('info', 'traces are taken again', { endpoint });
    else log('warn', 'traces are not taken', { endpoint, reason });
  });
}

/** Opens the OpenID provider of the settings; null without a provider. Throws ConfigInvalid. */
export function connectIdentityProvider({ oidc, public_url }: TenancySettings): IdentityProvider | null {
  const { issuer_url: issuer, client_id: clientId, client_secret_file: secretFile, issuer_ca, scopes } = oidc;
  if (issuer === null || clientId === null || secretFile === null) return null;
  return openIdentityProvider({
    ...{ issuer, clientId, scopes, groupsClaim: oidc.groups_claim, clock: monotonicMs },
    clientSecret: readToken(secretFile),
    authorities: readTrustedAuthorities(issuer_ca),
    callbackUrl: public_url + callbackPath,
    signedOutUrl: public_url + signedOutPath,
  });
}
