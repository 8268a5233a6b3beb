import { failure, offline, refused, type Fault } from '../../../../machines/fault.ts';
import type { ManifestSecret } from '../../../../machines/words.ts';
import type { Settings } from '../../config/settings.ts';
import * as answers from '../../rules/errors/secretstoreErrors.ts';
import { serverWords } from '../../../protocol/errorBody.ts';
import type { Call } from './call.ts';
import type { Reply } from './http.ts';
import type { Caller } from './tenancy.ts';

/** What to log in with: the bootstrap grant, or the lease of one apply. */
export interface Credential {
  kind: 'grant' | 'lease';
  role: string;
  jwt: string;
}

/** The secretstore's own HTTP API (spec §11); a token that it gives is redacted from then on. */
export interface Secretstore {
  /** Throws BOOTSTRAP_REFUSED or LOGIN_REFUSED by kind, CLOCK_SKEW when only the clock is to blame. */
  login: (credential: Credential, signal: AbortSignal) => Promise<answers.Login>;
  /** Throws the refusal SECRET_UNAVAILABLE, naming path and field. */
  read: (secret: Omit<ManifestSecret, 'var'>, token: string, signal: AbortSignal) => Promise<answers.KvVersion>;
  lookupSelf: (token: string, signal: AbortSignal) => Promise<answers.Lookup>;
  renewSelf: (
    token: string,
    signal: AbortSignal,
  ) => Promise<{ ttlS: number; renewable: boolean } | { refused: string }>;
  /** A token that is dead already is fine. */
  revokeSelf: (token: string, signal: AbortSignal) => Promise<void>;
}

interface SecretstoreParts extends Caller {
  settings: Settings;
}

type Send = (call: Pick<Call, 'what' | 'path' | 'signal'> & Partial<Call>, token?: string) => Promise<Reply>;

/** The secretstore behind `http`. */
export function createSecretstore({ http, vault, requestId, settings }: SecretstoreParts): Secretstore {
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
      vault.guard(credential.jwt);
      const login = await logIn(send, credential, signal);
      vault.guard(login.token);
      return login;
    },
    read: (secret, token, signal) => read({ send, secret, token, signal }),
    lookupSelf: async (token, signal) => {
      const call = { what: 'token lookup', method: 'GET', path: '/v1/auth/token/lookup-self', accepts: [403] } as const;
      const { status, json } = await send({ ...call, signal }, token);
      if (answers.isDeniedByPolicy(status, json)) return { denied: true };
      return status === 403 ? { dead: true } : answers.parseLookup(json);
    },
    renewSelf: async (token, signal) => renew(send, token, signal),
    revokeSelf: async (token, signal) => {
      const call = { what: 'token revocation', path: '/v1/auth/token/revoke-self', accepts: [400, 403, 404] };
      await send({ ...call, ignoresBody: true, signal }, token);
    },
  };
}

async function logIn(send: Send, { kind, role, jwt }: Credential, signal: AbortSignal): Promise<answers.Login> {
  const call = { what: 'login', path: '/v1/auth/jwt-tenancy/login', accepts: [400, 403] };
  const { status, headers, json } = await send({ ...call, body: { role, jwt }, signal });
  const code = kind === 'grant' ? 'BOOTSTRAP_REFUSED' : 'LOGIN_REFUSED';
  if (status === 400 || status === 403) {
    const { text } = serverWords(json);
    const skew = answers.clockSkewOf(headers.date, text, Date.now());
    if (skew !== null) throw failure('CLOCK_SKEW', skew);
    throw failure(code, `the secretstore answered ${status}: ${text ?? 'no reason given'}`);
  }
  const login = answers.parseLogin(json);
  if ('refused' in login) throw failure(code, login.refused);
  return login;
}

interface Reading {
  send: Send;
  secret: Omit<ManifestSecret, 'var'>;
  token: string;
  signal: AbortSignal;
}

async function read({ send, secret, token, signal }: Reading): Promise<answers.KvVersion> {
  const { path, version, field } = secret;
  const query = version === null ? {} : { version: String(version) };
  const plain = path.split('/').map(encodeURIComponent).join('/');
  const call = {
    what: `secret ${path}`,
    method: 'GET',
    path: `/v1/${plain}`,
    query,
    accepts: [400, 403, 404],
    maxBytes: maxEntryBytes,
    tooLarge: tooLarge(path),
  } as const;
  const { status, json } = await send({ ...call, signal }, token);
  if (status < 300) return answers.parseSecret(json);
  if (answers.isUpgrading(status, json)) throw offline(`secretstore: ${path} is being upgraded`);
  throw unavailable(`${path} field ${field}${version === null ? '' : ` version ${version}`}`, status, json);
}

/** As the secretstore tells it, in JSON: eight times the longest value that a process can be given. */
const maxEntryBytes = 1_048_576;

function tooLarge(path: string): Fault {
  const detail = `${path}: the whole entry takes more than ${maxEntryBytes} bytes; spread its fields over several paths`;
  return refused([{ code: 'SECRET_UNUSABLE', detail }]);
}

function unavailable(name: string, status: number, json: unknown): Fault {
  return refused([{ code: 'SECRET_UNAVAILABLE', detail: `${name}: ${answers.absenceOf(status, json)}` }]);
}

async function renew(send: Send, token: string, signal: AbortSignal) {
  const call = { what: 'token renewal', path: '/v1/auth/token/renew-self', accepts: [400, 403, 500] };
  const { status, json } = await send({ ...call, signal }, token);
  if (status < 300) return answers.parseRenewal(json);
  const text = serverWords(json).text ?? `status ${status}`;
  if (answers.isRenewalRefusal(status, json)) return { refused: text };
  throw offline(`secretstore: token renewal answered ${status} (${text})`);
}
