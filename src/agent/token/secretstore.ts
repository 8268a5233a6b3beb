import { failedFault, type Fault, offlineFault, refusedFault } from '../../../machines/fault.ts';
import type { ManifestSecret } from '../../../machines/types.ts';
import { parseErrorBody } from '../../core/http.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { HttpReply } from '../transport/httpClient.ts';
import type { HttpCall } from '../transport/httpRequest.ts';
import type { ApiContext } from '../transport/tenancy.ts';
import * as responses from './token.rules.ts';

/** A credential for login: the bootstrap grant, or the lease of one apply. */
export interface Credential {
  kind: 'grant' | 'lease';
  role: string;
  jwt: string;
}

/** The secretstore's HTTP API (spec §11); tokens that it returns are registered for redaction. */
export interface Secretstore {
  /** Throws BOOTSTRAP_REFUSED or LOGIN_REFUSED by kind, CLOCK_SKEW when only the clock is wrong. */
  login: (credential: Credential, signal: AbortSignal) => Promise<responses.Login>;
  /** Throws the refusal SECRET_UNAVAILABLE with path and field. */
  read: (secret: Omit<ManifestSecret, 'var'>, token: string, signal: AbortSignal) => Promise<responses.SecretVersion>;
  lookupSelf: (token: string, signal: AbortSignal) => Promise<responses.TokenLookup>;
  renewSelf: (
    token: string,
    signal: AbortSignal,
  ) => Promise<{ ttlS: number; renewable: boolean } | { refused: string }>;
  /** Succeeds for a dead token too. */
  revokeSelf: (token: string, signal: AbortSignal) => Promise<void>;
}

interface SecretstoreOptions extends ApiContext {
  settings: Settings;
}

type Send = (
  call: Pick<HttpCall, 'operation' | 'path' | 'signal'> & Partial<HttpCall>,
  token?: string,
) => Promise<HttpReply>;

/** The secretstore, called through `http`. */
export function createSecretstore({ http, vault, requestId, settings }: SecretstoreOptions): Secretstore {
  const namespace = settings.secretstore_namespace;
  const send: Send = (call, token) =>
    http.call({
      peer: 'secretstore',
      method: 'POST',
      requestId: requestId(),
      ...call,
      headers: {
        'x-vault-request': 'true',
        ...(namespace !== null && { 'x-vault-namespace': namespace }),
        ...(token !== undefined && { 'x-vault-token': token }),
      },
    });
  return {
    login: async (credential, signal) => {
      vault.registerForRedaction(credential.jwt);
      const login = await logIn(send, credential, signal);
      vault.registerForRedaction(login.token);
      return login;
    },
    read: (secret, token, signal) => read({ send, secret, token, signal }),
    lookupSelf: async (token, signal) => {
      const call = {
        operation: 'token lookup',
        method: 'GET',
        path: '/v1/auth/token/lookup-self',
        accepts: [403],
      } as const;
      const { status, json } = await send({ ...call, signal }, token);
      if (responses.isDeniedByPolicy(status, json)) return { denied: true };
      return status === 403 ? { dead: true } : responses.parseLookup(json);
    },
    renewSelf: async (token, signal) => renew(send, token, signal),
    revokeSelf: async (token, signal) => {
      const call = { operation: 'token revocation', path: '/v1/auth/token/revoke-self', accepts: [400, 403, 404] };
      await send({ ...call, ignoresBody: true, signal }, token);
    },
  };
}

async function logIn(send: Send, { kind, role, jwt }: Credential, signal: AbortSignal): Promise<responses.Login> {
  const call = { operation: 'login', path: '/v1/auth/jwt-tenancy/login', accepts: [400, 403] };
  const { status, headers, json } = await send({ ...call, body: { role, jwt }, signal });
  const code = kind === 'grant' ? 'BOOTSTRAP_REFUSED' : 'LOGIN_REFUSED';
  if (status === 400 || status === 403) {
    const { text } = parseErrorBody(json);
    const skew = responses.describeClockSkew(headers.date, text, Date.now());
    if (skew !== null) throw failedFault('CLOCK_SKEW', skew);
    throw failedFault(code, `the secretstore answered ${status}: ${text ?? 'no reason given'}`);
  }
  const login = responses.parseLogin(json);
  if ('refused' in login) throw failedFault(code, login.refused);
  return login;
}

interface ReadRequest {
  send: Send;
  secret: Omit<ManifestSecret, 'var'>;
  token: string;
  signal: AbortSignal;
}

async function read({ send, secret, token, signal }: ReadRequest): Promise<responses.SecretVersion> {
  const { path, version, field } = secret;
  const query = version === null ? {} : { version: String(version) };
  const encodedPath = path.split('/').map(encodeURIComponent).join('/');
  const call = {
    operation: `secret ${path}`,
    method: 'GET',
    path: `/v1/${encodedPath}`,
    query,
    accepts: [400, 403, 404],
    maxBytes: maxEntryBytes,
    tooLarge: tooLarge(path),
  } as const;
  const { status, json } = await send({ ...call, signal }, token);
  if (status < 300) {
    const found = responses.parseSecret(json);
    if (version === null || version === 0 || found.version === version) return found; // 0 asks for the latest
    throw failedFault('PROTOCOL_INVALID', `${path}: the answer is version ${found.version} instead of ${version}`);
  }
  if (responses.isUpgrading(status, json)) throw offlineFault(`secretstore: ${path} is being upgraded`);
  throw unavailableSecret(`${path} field ${field}${version === null ? '' : ` version ${version}`}`, status, json);
}

/** Bytes of the JSON response: eight times the longest value that a process can be given. */
const maxEntryBytes = 1_048_576;

function tooLarge(path: string): Fault {
  const detail = `${path}: the whole entry takes more than ${maxEntryBytes} bytes; spread its fields over several paths`;
  return refusedFault([{ code: 'SECRET_UNUSABLE', detail }]);
}

function unavailableSecret(name: string, status: number, json: unknown): Fault {
  return refusedFault([
    { code: 'SECRET_UNAVAILABLE', detail: `${name}: ${responses.describeMissingSecret(status, json)}` },
  ]);
}

async function renew(send: Send, token: string, signal: AbortSignal) {
  const call = { operation: 'token renewal', path: '/v1/auth/token/renew-self', accepts: [400, 403, 500] };
  const { status, json } = await send({ ...call, signal }, token);
  if (status < 300) return responses.parseRenewal(json);
  const text = parseErrorBody(json).text ?? `status ${status}`;
  if (responses.isRenewalRefusal(status, json)) return { refused: text };
  throw offlineFault(`secretstore: token renewal answered ${status} (${text})`);
}
