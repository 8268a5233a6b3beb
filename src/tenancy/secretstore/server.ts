import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiError } from '../core/apiError.rules.ts';
import { limitCalls } from '../core/limiter.ts';
import type { LogLine } from '../core/log.ts';
import { limitBodyTime } from '../http/errors.ts';
import { answerClientError, type HttpLimits, serverFactory, type TlsIdentity } from '../http/httpServer.ts';
import { bearerIdentityOf } from '../keys/bearerCache.ts';
import type { OpenSecretstore } from '../peers/secretstore.ts';
import { isStoreFailure } from '../store/openStore.ts';
import { type Answer, errorAnswer, lookUpOf } from './secretstore.rules.ts';
import { answerCall, type CallDependencies, isRefusal } from './calls.ts';
import {
  findToken,
  listNewest,
  proveKeyFile,
  removeSecret,
  removeSecrets,
  removeToken,
  type SecretRecords,
  writeVersion,
} from './records.ts';

/** The embedded secretstore for this service itself, without HTTP and without a token. */
export function openEmbedded(records: SecretRecords): OpenSecretstore {
  const destroySecret = (env: string, key: string) => removeSecret(records, { env, key });
  return {
    lookUpToken: async (bearer) => {
      const token = await findToken(records, bearer);
      return token && bearerIdentityOf(lookUpOf('', token, records.clock()), null);
    },
    hasSecretsRole: async () => true,
    revokeToken: async (accessor) => void (await removeToken(records, accessor)),
    writeSecret: async ({ env, key, data: fields, ifVersion, keepsFields = false }) => {
      const change = { fields, cas: ifVersion, by: keepsFields ? 'merge' : 'replace' } as const;
      const result = await writeVersion(records, { env, key }, change);
      return result !== 'differs' && 'written' in result ? result.written.version : null;
    },
    listSecrets: (env) => listNewest(records, env),
    destroySecret,
    destroySecrets: async (env) => void (await removeSecrets(records, env)),
    check: () => proveKeyFile(records),
    checkPolicy: async () => undefined,
    close: async () => undefined,
  };
}

/** The HTTP interface of the embedded secretstore. */
interface SecretstoreAppOptions {
  readonly deps: CallDependencies;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsIdentity | null;
  readonly limits: HttpLimits;
  /** Largest number of concurrent requests. */
  readonly maxRequests: number;
  readonly log: LogLine;
}

/** Largest body in bytes; agents accept no larger answer. */
const MAX_BODY_BYTES = 1_048_576;
/** Seconds after which callers may retry. */
const RETRY_S = 5;

/** Creates the HTTP interface, which is not listening yet. It answers in the form of OpenBao, errors too. */
export async function createSecretstoreApp(options: SecretstoreAppOptions): Promise<FastifyInstance> {
  const { deps, tls, limits, maxRequests, log } = options;
  const limit = limitCalls(maxRequests, 'too many requests at once');
  const headers = {
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json',
    ...(tls !== null && { 'Strict-Transport-Security': 'max-age=31536000' }),
  };
  const send = (request: FastifyRequest, reply: FastifyReply, { status, headers: own, body = '' }: Answer) => {
    const { 'x-vault-namespace': namespace = '' } = request.headers;
    const echo = namespace === '' ? {} : { 'X-Vault-Namespace': namespace };
    // Bytes, because the framework adds a character set to the type of a text.
    return reply
      .code(status)
      .headers({ ...headers, ...echo, ...own })
      .send(Buffer.from(body));
  };
  const fail = (error: Error, request: FastifyRequest, reply: FastifyReply) => {
    const answer = failureOf(error);
    if (answer.status === 500) log('error', `the secretstore failed: ${error.message}`, { stack: error.stack });
    if (isStoreFailure(error)) log('warn', `the secretstore cannot use the store: ${error.message}`);
    return send(request, reply, answer);
  };
  const app = Fastify({
    serverFactory: serverFactory(tls, limits),
    clientErrorHandler: answerClientError,
    frameworkErrors: (...failure) => void fail(...failure),
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: 'loopback',
  });
  app.setErrorHandler(fail);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  limitBodyTime(app, limits.bodyMs);
  app.all('/*', async (request, reply) => {
    const answer = await limit(request.ip, () => answerCall(deps, requestOf(request)), isRefusal);
    return send(request, reply, answer);
  });
  await app.ready();
  return app;
}

function requestOf({ raw, headers, body }: FastifyRequest) {
  const [path = '', ...query] = (raw.url ?? '').split('?');
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
  return {
    method: raw.method ?? '',
    path,
    query: new URLSearchParams(query.join('?')),
    token: textOf(headers['x-vault-token']) ?? bearer ?? '',
    namespace: textOf(headers['x-vault-namespace'])?.replace(/^\/|\/$/g, '') || null,
    body: typeof body === 'string' ? body : '',
  };
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}

/** The answer to a failed call; an unexpected error has no details. */
function failureOf(error: Error & { statusCode?: number }): Answer {
  const retry = { headers: { 'Retry-After': String(RETRY_S) } };
  if (isStoreFailure(error)) return { ...errorAnswer(503, 'the store cannot be used at the moment'), ...retry };
  if (error instanceof ApiError) return { ...errorAnswer(error.fields.status, error.message), ...retry };
  const { statusCode = 500 } = error;
  if (statusCode === 413) return errorAnswer(413, 'http: request body too large');
  return statusCode < 500 ? errorAnswer(statusCode, 'the request is malformed') : errorAnswer(500, 'internal error');
}
