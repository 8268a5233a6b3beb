import { hostname } from 'node:os';
import type { Authorities } from '../platform/certificateAuthorities.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { SpanQueue } from '../telemetry/spanQueue.ts';
import { version } from '../version.ts';
import type { BundleStorage } from './adapters/bundles/bundleStorage.ts';
import { bundleDirectoryOf, createDirectoryStorage } from './adapters/bundles/directory.ts';
import { createS3Storage } from './adapters/bundles/s3.ts';
import { openMeshDirectory, type OpenMeshDirectory } from './adapters/mesh/openMeshDirectory.ts';
import type { IdentityProvider } from './adapters/oidc/identityProvider.ts';
import { openIdentityProvider } from './adapters/oidc/openIdentityProvider.ts';
import { openSecretstore, type OpenSecretstore } from './adapters/secretstore/openSecretstore.ts';
import { createPostWebhook, type PostWebhook } from './adapters/webhooks/postWebhook.ts';
import { readCredentials, readToken, readTrustedAuthorities } from './config/namedFiles.ts';
import type { TenancySettings } from './config/settings.ts';
import { signServiceLogin } from './credentials/grants.ts';
import type { KeyRing } from './credentials/keyRing.ts';
import { audience } from './credentials/secretstoreRoles.ts';
import type { LogLine } from './services/dependencies.ts';
import { callbackPath, signedOutPath } from './rules/consolePaths.ts';

/** Seconds in which the JWT of a login can be exchanged. */
const LOGIN_LIFETIME_S = 60;

/** By what the service proves itself to the secretstore. */
export interface ServiceIdentity {
  keys: () => KeyRing;
  /** Milliseconds since 1970. */
  clock: () => number;
}

/** Opens the secretstore of the settings, where nothing is called before the first use. Throws ConfigInvalid. */
export function connectSecretstore(settings: TenancySettings, { keys, clock }: ServiceIdentity): OpenSecretstore {
  const { public_url: issuer, secretstore_url: url, secretstore_ca, secretstore_namespace: namespace } = settings;
  const terms = () => ({ issuer, audience, lifetimeS: LOGIN_LIFETIME_S, now: clock() });
  const signLogin = async () => (await signServiceLogin(keys(), terms())).jwt;
  const authorities = readTrustedAuthorities(secretstore_ca);
  return openSecretstore({ url, authorities, namespace, signLogin, clock: monotonicMs });
}

/** Opens where the settings keep bundles: the bucket, else the directory. Throws ConfigInvalid. */
export function connectBundleStorage({ s3, state_dir }: Pick<TenancySettings, 's3' | 'state_dir'>): BundleStorage {
  const { url, bucket, region, credentials_file, redirect: givesLinks } = s3;
  if (url === null || bucket === null || credentials_file === null)
    return createDirectoryStorage(bundleDirectoryOf(state_dir));
  const given = readCredentials(credentials_file, 'access_key_id', 'secret_access_key');
  const credentials = { accessKeyId: given.access_key_id, secretAccessKey: given.secret_access_key };
  const authorities = readTrustedAuthorities(null);
  return createS3Storage({ url, bucket, region, credentials, authorities, givesLinks });
}

/** Opens the mesh's directory of the settings; null without a mesh. Throws ConfigInvalid. */
export function connectMesh({ mesh }: Pick<TenancySettings, 'mesh'>): OpenMeshDirectory | null {
  const { controller_url: controllerUrl, controller_ca, credentials_file } = mesh;
  if (controllerUrl === null || credentials_file === null) return null;
  const { username, password } = readCredentials(credentials_file, 'username', 'password');
  return openMeshDirectory({ controllerUrl, username, password, authorities: readTrustedAuthorities(controller_ca) });
}

/** What sends webhooks by the settings. Throws ConfigInvalid. */
export function connectWebhooks({ webhooks }: Pick<TenancySettings, 'webhooks'>): PostWebhook {
  const { ca, timeout_s, private_addresses: allowsPrivate } = webhooks;
  const own = ca === null ? [] : readTrustedAuthorities(ca);
  const authorities = [...readTrustedAuthorities(null), ...own] as Authorities;
  return createPostWebhook({ authorities, timeoutMs: timeout_s * 1000, allowsPrivate });
}

/** Opens the way to the collector of the settings, and loads what that needs; null without one. Throws ConfigInvalid. */
export async function connectCollector(
  { traces }: Pick<TenancySettings, 'traces'>,
  log: LogLine,
): Promise<SpanQueue | null> {
  const { otlp_endpoint: endpoint, ca } = traces;
  if (endpoint === null) return null;
  const { createSendSpans } = await import('../telemetry/sendSpans.ts');
  const { SpanQueue } = await import('../telemetry/spanQueue.ts');
  const source = { program: 'deployd-tenancy', version, attributes: { 'host.name': hostname() } };
  const send = createSendSpans({ endpoint, readAuthorities: () => readTrustedAuthorities(ca) }, source);
  return new SpanQueue(send, (reason) => {
    if (reason === null) log('info', 'traces are taken again', { endpoint });
    else log('warn', 'traces are not taken', { endpoint, reason });
  });
}

/** Opens the OpenID provider of the settings; null without one. Throws ConfigInvalid. */
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
