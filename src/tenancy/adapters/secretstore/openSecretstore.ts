import { bearerIdentityOf } from '../../credentials/bearerIdentity.ts';
import { authMount, serviceRole } from '../../credentials/secretstoreRoles.ts';
import { dataOf, recordOf } from './answerFields.ts';
import { destroySecret, destroySecrets, listSecrets, writeSecret, type CallAsService } from './secrets.ts';
import type { Secretstore } from './secretstore.ts';
import {
  createSecretstoreClient,
  unusableAnswer,
  type SecretstoreAddress,
  type SecretstoreClient,
} from './secretstoreClient.ts';
import { createServiceSession, type IssuedToken } from './serviceSession.ts';

/** A secretstore, and how the service logs in there. */
export interface SecretstoreOptions extends SecretstoreAddress {
  /** Signs the JWT of a login. */
  signLogin: () => Promise<string>;
  /** Milliseconds, of a clock that never goes back. */
  clock: () => number;
}

/** A secretstore that is used until it is closed. */
export interface OpenSecretstore extends Secretstore {
  /** Revokes the service's token if that can be done, and closes all connections. */
  close: () => Promise<void>;
}

/** Opens a secretstore; nothing is called before the first use. */
export function openSecretstore({ signLogin, clock, ...address }: SecretstoreOptions): OpenSecretstore {
  const client = createSecretstoreClient(address);
  const session = createServiceSession(async () => logIn(client, await signLogin()), clock);
  const call: CallAsService = (request) => {
    const accepts = [...(request.accepts ?? []), 403];
    return session.use(async (token) => {
      const answer = await client.call({ ...request, accepts, token });
      return answer.status === 403 ? undefined : answer;
    });
  };
  return {
    lookUpToken: async (bearer) => {
      const found = await session.use(async (token) => {
        const known = await lookUp(client, token, bearer);
        // a dead token or a wrong policy of ours must not count against the bearer: it is believed with a token that serves
        return known !== null || (await lookUp(client, token, token)) !== null ? { known } : undefined;
      });
      return found.known && bearerIdentityOf(found.known, address.namespace);
    },
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

async function logIn(client: SecretstoreClient, jwt: string): Promise<IssuedToken> {
  const body = { role: serviceRole.name, jwt };
  const { json } = await client.call({ what: 'login', method: 'POST', path: `auth/${authMount}/login`, body });
  const { client_token: token, accessor, lease_duration: ttlS } = recordOf(recordOf(json)['auth']);
  if (typeof token !== 'string' || token === '' || typeof accessor !== 'string' || typeof ttlS !== 'number') {
    throw unusableAnswer('login');
  }
  return { token, accessor, ttlS };
}

/** What the secretstore knows of a token, by another one; null if it refuses one of the two. */
async function lookUp(
  client: SecretstoreClient,
  token: string,
  about: string,
): Promise<Record<string, unknown> | null> {
  // an empty text would mean the caller's own token
  if (about === '') return null;
  const call = { what: 'token lookup', method: 'POST', path: 'auth/token/lookup', accepts: [400, 403] } as const;
  const { status, json } = await client.call({ ...call, body: { token: about }, token });
  return status < 300 ? dataOf(json, call.what) : null;
}
