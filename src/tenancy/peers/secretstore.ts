import { randomUUID } from 'node:crypto';
import { parseErrorBody } from '../../core/http.rules.ts';
import { type BearerIdentity, bearerIdentityOf } from '../keys/bearerCache.ts';
import { audience, authMount, secretsMount, secretsRole, serviceRole } from '../keys/secretstoreRoles.rules.ts';
import { PeerError } from './bundleStorage.ts';
import {
  createSecretstoreClient,
  dataOf,
  recordOf,
  type SecretstoreAddress,
  type SecretstoreCall,
  type SecretstoreClient,
  unusableAnswer,
} from './secretstoreClient.ts';

/** A secretstore, and the service's login there. */
interface SecretstoreOptions extends SecretstoreAddress {
  /** Signs the JWT of a login for an audience. */
  signLogin: (audience: string) => Promise<string>;
  /** Milliseconds, of a clock that never goes back. */
  clock: () => number;
}

/** A secretstore that stays open until it is closed. */
export interface OpenSecretstore extends Secretstore {
  /** Throws `PatchForbidden` if the policy of the service is of an earlier version. */
  checkPolicy: () => Promise<void>;
  /** Revokes the service's token if possible, and closes all connections. */
  close: () => Promise<void>;
}

/** Opens a secretstore; makes no call before the first use. */
export function openSecretstore({ signLogin, clock, ...address }: SecretstoreOptions): OpenSecretstore {
  const client = createSecretstoreClient(address);
  const session = createServiceSession(
    async () => logIn(client, { role: serviceRole.name, jwt: await signLogin(audience) }),
    clock,
  );
  const call: CallAsService = (request) => {
    const accepts = [...(request.accepts ?? []), 403];
    return session.use(async (token) => {
      const answer = await client.call({ ...request, accepts, token });
      if (answer.status !== 403) return answer;
      if (request.method === 'PATCH' && (await lookUp(client, token, token)) !== null) throw new PatchForbidden();
      return undefined;
    });
  };
  let hasSecretsRole = false;
  return {
    lookUpToken: async (bearer) => {
      const found = await session.use(async (token) => {
        const known = await lookUp(client, token, bearer);
        // A dead token or a wrong policy of the service must not count against the bearer: accept the refusal only if
        // the token works.
        return known !== null || (await lookUp(client, token, token)) !== null ? { known } : undefined;
      });
      return found.known && bearerIdentityOf(found.known, address.namespace);
    },
    hasSecretsRole: async () =>
      (hasSecretsRole ||= await isRoleKnown(client, {
        role: secretsRole.name,
        jwt: await signLogin(secretsRole.audience),
      })),
    revokeToken: async (accessor) => {
      await call({ ...revocation, body: { accessor } });
    },
    writeSecret: (secret) => writeSecret(call, secret),
    listSecrets: (env) => listSecrets(call, env),
    destroySecret: (env, key) => destroySecret(call, env, key),
    destroySecrets: (env, signal) => destroySecrets(call, env, signal),
    check: async () => {
      await session.use(async (token) => (await lookUp(client, token, token)) ?? undefined);
    },
    checkPolicy: async () => {
      // There is no such secret, so that nothing is written.
      await sendSecret(call, 'PATCH', { env: '_none', key: randomUUID(), data: {} });
    },
    close: async () => {
      const held = session.held();
      if (held !== null) {
        const { token, accessor } = held;
        await client.call({ ...revocation, body: { accessor }, token }).catch(() => undefined);
      }
      client.close();
    },
  };
}

const revocation = { what: 'token revocation', method: 'POST', path: 'auth/token/revoke-accessor' } as const;

/** A login at the mount of hosts and service. */
interface Login {
  role: string;
  jwt: string;
}

const loginCall = { what: 'login', method: 'POST', path: `auth/${authMount}/login` } as const;

async function logIn(client: SecretstoreClient, login: Login): Promise<IssuedToken> {
  return issuedToken((await client.call({ ...loginCall, body: { ...login } })).json);
}

/** Logs in and out again; returns false if the secretstore has no role of that name. */
async function isRoleKnown(client: SecretstoreClient, login: Login): Promise<boolean> {
  const { status, json } = await client.call({ ...loginCall, body: { ...login }, accepts: [400, 403] });
  if (status >= 300) return !/could not be found/.test(parseErrorBody(json).text ?? '');
  const { token } = issuedToken(json);
  const call = { what: 'token revocation', method: 'POST', path: 'auth/token/revoke-self' } as const;
  await client.call({ ...call, token }).catch(() => undefined);
  return true;
}

function issuedToken(json: unknown): IssuedToken {
  const { client_token: token, accessor, lease_duration: ttlS } = recordOf(recordOf(json)['auth']);
  if (typeof token !== 'string' || token === '' || typeof accessor !== 'string' || typeof ttlS !== 'number') {
    throw unusableAnswer('login');
  }
  return { token, accessor, ttlS };
}

/** Looks up a token with another one; returns null if the secretstore refuses either. */
async function lookUp(
  client: SecretstoreClient,
  token: string,
  about: string,
): Promise<Record<string, unknown> | null> {
  // An empty text would mean the caller's own token.
  if (about === '') return null;
  const call = { what: 'token lookup', method: 'POST', path: 'auth/token/lookup', accepts: [400, 403] } as const;
  const { status, json } = await client.call({ ...call, body: { token: about }, token });
  return status < 300 ? dataOf(json, call.what) : null;
}

/** A new version of a secret. */
interface SecretToWrite {
  env: string;
  key: string;
  data: Record<string, string>;
  ifVersion?: number | undefined;
  /** Whether the secretstore adds the fields of the newest version that `data` does not have. */
  keepsFields?: boolean;
}

/** The policy of the service is of an earlier version, which cannot keep the other fields of a secret. */
export class PatchForbidden extends PeerError {
  constructor() {
    super('secretstore', 'the policy of the service lacks the capability `patch`: run `secretstore apply`');
  }
}

/** A call with the service's own token. */
type CallAsService = (call: Omit<SecretstoreCall, 'token'>) => ReturnType<SecretstoreClient['call']>;

type SecretVersion = Awaited<ReturnType<Secretstore['listSecrets']>>[number];

/** Number of concurrent calls for one list. */
const AT_ONCE = 8;

/** Number of attempts to write a secret that others create and remove meanwhile. */
const TRIES = 5;

/** Writes a new version of a secret; returns its number, or null if the newest one is another than expected. */
async function writeSecret(call: CallAsService, secret: SecretToWrite): Promise<number | null> {
  if (secret.keepsFields !== true) return (await sendSecret(call, 'POST', secret)).written;
  for (let tries = 0; tries < TRIES; tries++) {
    const { written, removed } = await sendSecret(call, 'PATCH', secret);
    if (removed === null) return written;
    // Nothing to keep: there is no version, or the newest one is removed.
    if (secret.ifVersion !== undefined && secret.ifVersion !== removed) return null;
    const first = await sendSecret(call, 'POST', { ...secret, ifVersion: removed });
    if (first.written !== null) return first.written;
  }
  throw new PeerError('secretstore', `${writeCall.what}: others write it at the same time`);
}

const writeCall = { what: 'write of a secret', isSecret: true } as const;
const mergePatch = { 'content-type': 'application/merge-patch+json' };

/**
 * Writes all fields of a secret (POST) or some of them (PATCH). `written` is null if the newest version is another than
 * expected; `removed` is the number of the newest version if it has no fields to keep, 0 without any version.
 */
async function sendSecret(
  call: CallAsService,
  method: 'POST' | 'PATCH',
  { env, key, data, ifVersion }: SecretToWrite,
): Promise<{ written: number | null; removed: number | null }> {
  const { what } = writeCall;
  const isPatch = method === 'PATCH';
  const { status, json } = await call({
    ...{ ...writeCall, method, path: pathOf('data', env, key), ...(isPatch && { headers: mergePatch }) },
    body: { data, ...(ifVersion !== undefined && { options: { cas: ifVersion } }) },
    accepts: [...(ifVersion === undefined ? [] : [400]), ...(isPatch ? [404] : [])],
  });
  if (status < 300) return { written: versionIn(dataOf(json, what)['version'], what), removed: null };
  if (status === 404) {
    const { version = 0 } = recordOf(recordOf(json)['data']);
    return { written: null, removed: versionIn(version, what) };
  }
  if (parseErrorBody(json).text?.includes('check-and-set parameter did not match') === true)
    return { written: null, removed: null };
  throw new PeerError('secretstore', `${what} answered ${status}`);
}

/** Lists all secrets of an environment, those in folders with `/`, sorted, with their newest versions. */
async function listSecrets(call: CallAsService, env: string): Promise<SecretVersion[]> {
  const keys = (await keysBelow(call, env)).sort();
  const found: SecretVersion[] = [];
  while (keys.length > 0) {
    const versions = await Promise.all(keys.splice(0, AT_ONCE).map((key) => newestVersion(call, env, key)));
    found.push(...versions.filter((version) => version !== null));
  }
  return found;
}

/** Destroys all versions of a secret; returns false if it does not exist. */
async function destroySecret(call: CallAsService, env: string, key: string): Promise<boolean> {
  if ((await newestVersion(call, env, key)) === null) return false;
  await removeSecret(call, env, key);
  return true;
}

/** Destroys all secrets of an environment; rejects between two secrets when the signal is aborted. */
async function destroySecrets(call: CallAsService, env: string, signal: AbortSignal): Promise<void> {
  for (const key of await keysBelow(call, env)) {
    signal.throwIfAborted();
    await removeSecret(call, env, key);
  }
}

async function removeSecret(call: CallAsService, env: string, key: string): Promise<void> {
  await call({ what: 'removal of a secret', method: 'DELETE', path: pathOf('metadata', env, key) });
}

/** Names of secrets below a folder, which ends with `/`. */
async function keysBelow(call: CallAsService, env: string, folder = ''): Promise<string[]> {
  const what = 'list of secrets';
  const path = `${pathOf('metadata', env, folder).replace(/\/$/, '')}?list=true`;
  const found = await read(call, { what, path });
  if (found === null) return [];
  const { keys } = found;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) throw unusableAnswer(what);
  const all: string[] = [];
  for (const key of keys.map((name) => folder + name)) {
    all.push(...(key.endsWith('/') ? await keysBelow(call, env, key) : [key]));
  }
  return all;
}

/** The newest version of a secret; null if it does not exist. */
async function newestVersion(call: CallAsService, env: string, key: string): Promise<SecretVersion | null> {
  const what = 'versions of a secret';
  const found = await read(call, { what, path: pathOf('metadata', env, key) });
  return found && { key, version: versionIn(found['current_version'], what) };
}

/** The data at a path; null if there is none. A 404 with a reason means that the mount or namespace is missing. */
async function read(call: CallAsService, request: Pick<SecretstoreCall, 'what' | 'path'>) {
  const { status, json } = await call({ ...request, method: 'GET', accepts: [404] });
  const reason = parseErrorBody(json).text;
  if (status === 404 && reason !== null) throw new PeerError('secretstore', `${request.what} answered 404 (${reason})`);
  return status === 404 ? null : dataOf(json, request.what);
}

function versionIn(value: unknown, what: string): number {
  if (typeof value !== 'number') throw unusableAnswer(what);
  return value;
}

function pathOf(part: 'data' | 'metadata', env: string, key: string): string {
  return [secretsMount, part, env, 'see', ...key.split('/')].map(encodeURIComponent).join('/');
}

/**
 * The service's calls to the secretstore, with its own token. Each throws `PeerError` if the secretstore cannot be
 * called, is sealed, or refuses the service.
 */
export interface Secretstore {
  /**
   * Returns the owner of a bearer token; null if the secretstore does not know it, or it does not belong to a backend.
   */
  lookUpToken: (bearer: string) => Promise<BearerIdentity | null>;
  /** Whether leases of secrets have their own role; false until `secretstore apply` of this version has run. */
  hasSecretsRole: () => Promise<boolean>;
  /** Revokes a token by its accessor; an unknown one counts as revoked. */
  revokeToken: (accessor: string) => Promise<void>;
  /**
   * Writes a new version of `deployd/data/<env>/see/<key>`; returns its number. Returns null, and writes nothing, if
   * the newest version is not `ifVersion` (0: the secret does not exist). Throws `PatchForbidden` if the policy of the
   * service does not allow to keep fields.
   */
  writeSecret: (secret: SecretToWrite) => Promise<number | null>;
  /** Names of the secrets of an environment, sorted, with the number of the newest version. */
  listSecrets: (env: string) => Promise<{ key: string; version: number }[]>;
  /** Destroys all versions of a secret; returns false if it does not exist. */
  destroySecret: (env: string, key: string) => Promise<boolean>;
  /** Destroys everything at `deployd/metadata/<env>/see/`; stops at the signal. */
  destroySecrets: (env: string, signal: AbortSignal) => Promise<void>;
  /** Throws unless the secretstore is unsealed and accepts the service's token. */
  check: () => Promise<void>;
}

/** A token from a login. */
export interface IssuedToken {
  token: string;
  accessor: string;
  ttlS: number;
}

/** The service's own token, which is only in memory. */
interface ServiceSession {
  /**
   * Calls `attempt` with the token. It resolves to undefined if the token was refused, and is then called again with a
   * new one. Throws `PeerError` if there is no token, or if the new one is refused too.
   */
  use: <T>(attempt: (token: string) => Promise<T | undefined>) => Promise<T>;
  /** The current token; null before the first login. */
  held: () => IssuedToken | null;
}

/** The last part of a token's lifetime, in which the next login takes place. */
const LAST_PART = 1 / 3;
/**
 * Shortest time in milliseconds between two replacements of a refused token: with a wrong policy every token would be
 * refused.
 */
const REPLACED_EVERY_MS = 5000;

interface HeldToken extends IssuedToken {
  issuedAt: number;
  endsAt: number;
}

/**
 * Logs in on demand, shortly before the token expires and after it was refused; never twice at the same time. The clock
 * counts milliseconds and never goes back.
 */
export function createServiceSession(logIn: () => Promise<IssuedToken>, clock: () => number): ServiceSession {
  let held: HeldToken | null = null;
  let running: Promise<string> | null = null;
  let replacedAt = -Infinity;
  const hold = async () => {
    const issuedAt = clock();
    const issued = await logIn();
    held = { ...issued, issuedAt, endsAt: issuedAt + issued.ttlS * 1000 };
    return issued.token;
  };
  const renew = () => (running ??= hold().finally(() => (running = null)));
  const current = async () => {
    const now = clock();
    if (held === null || now >= held.endsAt) return renew();
    if (now >= held.endsAt - (held.endsAt - held.issuedAt) * LAST_PART) renew().catch(() => undefined);
    return held.token;
  };
  const replace = async (refused: string) => {
    if (held !== null && held.token !== refused) return held.token;
    if (running === null) {
      if (clock() - replacedAt < REPLACED_EVERY_MS) throw refusedService();
      replacedAt = clock();
    }
    return renew();
  };
  return {
    use: async (attempt) => {
      for (let token = await current(); ; token = await replace(token)) {
        const result = await attempt(token);
        if (result !== undefined) return result;
      }
    },
    held: () => held,
  };
}

function refusedService(): PeerError {
  const why =
    'the service is refused although it has just logged in: see `sudo deployd-tenancy secretstore plan --token-file FILE`';
  return new PeerError('secretstore', why);
}
