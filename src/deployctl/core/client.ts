import type { Readable } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { refusals } from '../../../machines/refusals.ts';
import { untrustedOf } from '../../core/certificateAuthorities.ts';
import { version } from '../../core/commandLine.ts';
import { closeAgents } from '../../core/connector.ts';
import { describeErrorCode, errorClassOf } from '../../core/errors.rules.ts';
import { parseErrorBody, parseRetryAfter } from '../../core/http.rules.ts';
import { type GotRequest, type HttpAnswer, open, send } from '../../core/httpClient.ts';
import { isObject } from '../../core/json.rules.ts';
import { collectBytes } from '../../core/streams.ts';
import { certificateCure, type Untrusted } from '../../core/untrusted.rules.ts';
import { type BundleRefusal, type Clock, CtlError, type Exit, exits, type Io, usageError } from './ctlError.ts';
import { isExempt, proxyOf } from './proxy.rules.ts';
import { createProxyAgents } from './proxyAgents.ts';
import { describeHost, quote } from './table.ts';
import type { Backend, BackendDetails, Bundle } from './types.ts';

/** One call of the operators' API. */
export interface ApiCall {
  method: GotRequest['method'];
  /** Made by `path`. */
  path: string;
  query?: Record<string, string | number | undefined>;
  json?: object;
  /**
   * Number of attempts; by default as many as temporary failures allow, but one for POST, which might take effect
   * twice.
   */
  tries?: 1;
  /** Opens the bytes to send; called again for each attempt. */
  upload?: () => Promise<{ bytes: Readable; size: number }>;
  /** Receives the bytes of an answer that is not JSON, from the start for each attempt. Its CtlErrors end the call. */
  receive?: (bytes: Readable) => Promise<void>;
}

/** The operators' API; throws only CtlErrors. */
export interface Api {
  /** Returns the answered object, an empty one for 204. */
  call: <T extends object>(call: ApiCall) => Promise<T>;
  close: () => void;
}

/** The address of the API, and the caller's credentials. */
export interface Connection {
  url: URL;
  token: string;
  context: SecureContext;
  /** The environment, which may set a proxy. */
  env: Io['env'];
}

/** The API at the end of a connection; `clock` times the retries. */
export function createApi({ url, token, context, env }: Connection, clock: Clock): Api {
  const agents = createProxyAgents(context, env);
  const attempt = async (call: ApiCall): Promise<Attempt> => {
    const upload = await call.upload?.();
    const headers = { ...baseHeaders, authorization: `Bearer ${token}`, ...contentHeaders(call, upload?.size) };
    const body = upload?.bytes ?? (call.json && JSON.stringify(call.json));
    const request = { url: urlOf(url, call), method: call.method, headers, body, agents, timeout };
    return (call.receive ? download(request, call.receive) : send(request)).then(
      (answer) => readAnswer(answer, url.origin),
      (error: unknown) => ({ error: callError(error, url.origin, env), retryAfterS: null }),
    );
  };
  return {
    call: async <T extends object>(call: ApiCall) => (await withRetries(call, clock, () => attempt(call))) as T,
    close: () => closeAgents(agents),
  };
}

/** The result of one attempt. */
type Attempt = { json: object } | { error: CtlError; retryAfterS: number | null };

const baseHeaders = { accept: 'application/json', 'user-agent': `deployctl/${version}` };

function contentHeaders({ json }: ApiCall, size: number | undefined): Record<string, string> {
  if (size !== undefined) return { 'content-type': 'application/octet-stream', 'content-length': String(size) };
  return json === undefined ? {} : { 'content-type': 'application/json' };
}

function urlOf(base: URL, { path, query = {} }: ApiCall): URL {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

function readAnswer({ status, headers, body }: HttpAnswer, origin: string): Attempt {
  const json = parseJson(body);
  const isOk = status >= 200 && status < 300;
  if (!isOk) return { error: answerError(status, json), retryAfterS: parseRetryAfter(headers, Date.now()) };
  if (isObject(json)) return { json };
  return { error: notOurAnswer(origin), retryAfterS: null };
}

/** An empty body becomes an empty object; undefined is not JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return body.length === 0 ? {} : (JSON.parse(body.toString('utf8')) as unknown);
  } catch {
    return undefined;
  }
}

async function withRetries(
  { method, tries: most }: ApiCall,
  clock: Clock,
  attempt: () => Promise<Attempt>,
): Promise<object> {
  for (let tries = 1; ; tries++) {
    const result = await attempt();
    if ('json' in result) return result.json;
    const { error, retryAfterS } = result;
    const mayRetry = method !== 'POST' && most !== 1 && error.fields.exit === exits.temporary;
    const delayMs = mayRetry ? retryDelayMs(retryAfterS, tries, Math.random()) : null;
    if (delayMs === null) throw error;
    await clock.sleep(delayMs);
  }
}

/** The error of a fault before an answer was complete: local, or on the network. */
function callError(error: unknown, origin: string, env: Io['env']): CtlError {
  return error instanceof CtlError ? error : transportError(error, origin, env);
}

/** The error of an answer other than 2xx, with its own code and message if it has an error body. */
function answerError(status: number, body: unknown): CtlError {
  const { code, text } = parseErrorBody(body);
  const known = code ?? 'PROTOCOL_INVALID';
  return new CtlError({
    exit: superseded.has(known) ? exits.superseded : exitOf(status),
    code: known,
    message: text ?? `the service answered ${status}`,
    ...remedyOf(known, status),
    refusals: refusalsOf(body),
  });
}

/**
 * The error of a call without an answer; `code` is an errno or similar. It names the proxy of the environment, if any.
 */
export function transportError(error: unknown, origin: string, env: Io['env']): CtlError {
  const { code: named } = error as { code?: unknown };
  const code = typeof named === 'string' ? named : 'UNKNOWN';
  const untrusted = untrustedOf(error);
  const { hostname, protocol } = new URL(origin);
  const proxy = protocol === 'http:' || isExempt(hostname, env) ? null : proxyOf(env);
  if (proxy === null) return connectionError(code, origin, untrusted);
  if ('fault' in proxy) return usageError('PROXY_INVALID', proxy.fault, `or name ${hostname} in no_proxy`);
  const [, status] = /^PROXY_(\d+)$/.exec(code) ?? [];
  if (status === undefined) return connectionError(code, `${origin}, through the proxy ${proxy.url.origin}`, untrusted);
  const exit = isTemporary(Number(status)) ? exits.temporary : exits.failed;
  const answer = status === '0' ? 'gave no HTTP answer' : `answered ${status}`;
  const message = `the proxy ${proxy.url.origin} ${answer} to a tunnel to ${hostname}`;
  return new CtlError({ exit, code: 'PROXY_REFUSED', message, ...remedyOf('PROXY_REFUSED', 0) });
}

/** The settings with which an operator names trusted authorities. */
const callersAuthorities = '--ca-file, DEPLOYCTL_CA_FILE or ca_file';

function connectionError(code: string, origin: string, untrusted: Untrusted | null): CtlError {
  const isTemporary = errorClassOf(code) === 'temporary';
  const name = { untrusted: 'TLS_UNTRUSTED', protocol: 'PROTOCOL_INVALID', temporary: 'UNREACHABLE', bug: 'INTERNAL' };
  const known = name[errorClassOf(code)];
  const exit = isTemporary ? exits.temporary : exits.failed;
  const message = `${origin}: ${untrusted?.problem ?? describeErrorCode(code)}`;
  const remedy = untrusted === null ? remedyOf(known, 0) : { remedy: certificateCure(untrusted, callersAuthorities) };
  return new CtlError({ exit, code: known, message, ...remedy });
}

/** The error of a success without the object that the API promises. */
function notOurAnswer(origin: string): CtlError {
  const message = `${origin}: the answer is not a JSON object: is this the address of the tenancy service?`;
  return new CtlError({ exit: exits.failed, code: 'PROTOCOL_INVALID', message });
}

/** True for a status that may change with another attempt. */
export function isTemporary(status: number): boolean {
  return [408, 425, 429].includes(status) || status >= 500;
}

function exitOf(status: number): Exit {
  if (status === 400) return exits.usage;
  if (status === 401 || status === 403) return exits.notPermitted;
  return isTemporary(status) ? exits.temporary : exits.failed;
}

/** Codes of a promotion that came too late; nothing failed. */
const superseded = new Set(['DESIRED_DIFFERS', 'PIPELINE_STALE']);

function refusalsOf(body: unknown): BundleRefusal[] {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const refusals = Array.isArray(error['refusals']) ? (error['refusals'] as unknown[]) : [];
  return refusals.filter(isRefusal);
}

function isRefusal(value: unknown): value is BundleRefusal {
  return isObject(value) && typeof value.code === 'string' && typeof value.detail === 'string' && hasFaults(value);
}

function hasFaults({ faults = [] }: Record<string, unknown>): boolean {
  const isFault = (fault: unknown) =>
    isObject(fault) && typeof fault.text === 'string' && typeof fault.cure === 'string';
  return Array.isArray(faults) && faults.every(isFault);
}

/** The remedy for an error, by its code. */
const remedies: Record<string, string> = {
  ARCHIVE_NOT_FOUND: '`deployctl restore review` lists the archives',
  BACKEND_CLONED: '`deployctl host accept ID` lists its hosts; accept one, or add --force',
  BACKEND_LEADS:
    '`docker node demote` its node, or add --swarm to retire all managers; with --force, no manager acts until it is demoted',
  BACKEND_OFFLINE: 'add --force: if the host comes back within 24 hours, it is still taken down',
  BUNDLE_DAMAGED: '`deployctl push` its archive again, or a newer bundle',
  BUNDLE_ENV: 'build a bundle for this environment: the manifest names another one',
  BUNDLE_MISSING: '`deployctl push` its archive again, or a newer bundle',
  BUNDLE_NOT_FOUND: '`deployctl push` it first; `deployctl bundle list` lists the bundles',
  CONFIRM_REQUIRED: 'add --confirm: its host is taken down, and its credentials are revoked',
  DESIRED_DIFFERS: '`deployctl env show ENV` shows the desired bundle; promote again if yours should replace it',
  ENV_EXISTS: '`deployctl env show ENV` shows it',
  ENV_NOT_FOUND: '`deployctl env list` lists the environments that you may see',
  ENV_IN_USE: 'retire its hosts first: `deployctl host list --env ENV`',
  PIPELINE_STALE:
    'nothing, if the later pipeline has the right bundle; without --pipeline, an older bundle is promoted',
  PROXY_REFUSED: 'check user and password in https_proxy and what the proxy permits, or name the host in no_proxy',
  ROLLOUT_ACTIVE:
    '`deployctl rollout show ENV` shows its state; `deployctl rollout abort ENV` ends it; if it is urgent, promote, rollback and secret set take --override-rollout',
  ROLLBACK_DENIED: 'remove `rollback` from policy.deny of these hosts; `deployctl rollback ENV SHA` returns the others',
  ROLLBACK_NEEDED: '`deployctl rollback ENV SHA` gives the old content a new sequence',
  ROLLOUT_STATE: '`deployctl rollout show ENV` shows its state',
  SECRET_CHANGED: 'somebody else wrote it: `deployctl secret list ENV`, then set it again',
  SECRETSTORE_OUTDATED: 'run `sudo deployd-tenancy secretstore apply --token-file FILE` on the service',
  SECRETS_DOOMED: '`deployctl secret keep ENV`, or add a host to the environment',
  SEQUENCE_EXHAUSTED: 'an administrator can set a lower one: `deployctl env sequence ENV --set N`',
  SEQUENCE_TOO_HIGH: 'pack it again with `deployctl bundle pack --next`',
  SEQUENCE_STALE: 'pack it again with `deployctl bundle pack --next`',
  TLS_UNTRUSTED: 'name the certificate authority of the service: --ca-file, DEPLOYCTL_CA_FILE or ca_file',
  WEBHOOK_LIMIT: 'remove one first: `deployctl webhook remove WEBHOOK`',
  UNREACHABLE: 'check the address and whether the service runs, and try again later',
};

/** Remedies by status, for codes that are not listed. */
const remediesByStatus: Record<number, string> = {
  401: 'the token is invalid or revoked: `deployctl login` with another one',
  403: 'your role does not permit this: `deployctl whoami` shows your role and environments',
  413: 'leave out files: the service limits the size of a bundle',
  429: 'try again later',
  503: 'try again later',
};

/** The remedy for an error; nothing if the message is sufficient. */
function remedyOf(code: string, status: number): { remedy?: string } {
  const remedy = remedies[code] ?? cureOf(code) ?? remediesByStatus[status];
  return remedy === undefined ? {} : { remedy };
}

/** How to get a refused bundle accepted. */
export function cureOf(code: string): string | undefined {
  return (refusals as Partial<Record<string, { cure: string }>>)[code]?.cure;
}

/** Milliseconds until a failed call is tried again, null if it is not; `random` is in [0, 1). */
function retryDelayMs(retryAfterS: number | null, tries: number, random: number): number | null {
  if (tries >= maxTries) return null;
  if (retryAfterS !== null && retryAfterS > maxRetryAfterS) return null;
  // Spread the retries, because many pipelines may have received the same Retry-After.
  return (retryAfterS ?? 0) * 1000 * (1 + random / 2) + firstDelayMs * 2 ** (tries - 1) * (0.5 + random);
}

const maxTries = 4;
/** Seconds; a longer wait is reported instead. */
const maxRetryAfterS = 30;
const firstDelayMs = 250;

/** Limit of the body of an answer that explains why there is no download. */
const errorLimit = { maxBytes: 1_048_576, tooLarge: () => new Error('the answer is too long') };

/** Milliseconds. An upload may take any time while bytes flow; a push is validated before the service answers. */
export const timeout = { socket: 60_000, response: 300_000 };

/** Sends a request. Passes the bytes of a successful answer to `receive`; any other answer has them as its body. */
export async function download(request: GotRequest, receive: (bytes: Readable) => Promise<void>): Promise<HttpAnswer> {
  const { body: bytes, ...answer } = await open(request);
  if (answer.status !== 200) return { ...answer, body: await collectBytes(bytes, errorLimit) };
  await receive(bytes);
  return { ...answer, body: Buffer.alloc(0) };
}

/** The path of a call: each value becomes one segment, so that no name can lead elsewhere. */
export function path(parts: TemplateStringsArray, ...segments: string[]): string {
  return parts.map((part, index) => part + segmentOf(segments[index])).join('');
}

function segmentOf(value: string | undefined): string {
  if (value === undefined) return '';
  if (['', '.', '..'].includes(value)) throw usageError('NAME_INVALID', `"${value}" is not a name`);
  return encodeURIComponent(value.toWellFormed());
}

/** A list of the API: `key` names its items, `next` is the cursor of the page after it. */
export type Page<K extends string, T> = Record<K, T[]> & { next: Cursor };
type Cursor = string | number | null;

/** Which list to read, and how much of it. */
interface ListCall<K extends string> {
  path: string;
  query?: ApiCall['query'];
  key: K;
  /** Name of the parameter that takes the cursor. */
  cursor: 'after' | 'before';
  /** Most items that are read. */
  limit: number;
}

/** Reads page after page, up to `limit` items, as one page. */
export async function readPages<K extends string, T>(api: Api, call: ListCall<K>): Promise<Page<K, T>> {
  const { path, key, cursor, limit } = call;
  const items: T[] = [];
  let next: Cursor = null;
  do {
    const size = Math.min(maxPageSize, limit - items.length);
    const query = { ...call.query, limit: size, [cursor]: next ?? undefined };
    const page: Page<K, T> = await api.call({ method: 'GET', path, query });
    items.push(...page[key]);
    next = page.next;
  } while (next !== null && items.length < limit);
  return { [key]: items, next } as Page<K, T>;
}

const maxPageSize = 500;

/**
 * Digest of the one bundle, of an env or of all, whose digest begins so; a whole digest is not looked up. Throws SHA_INVALID,
 * and BUNDLE_NOT_FOUND if none or several begin so.
 */
export async function wholeSha(api: Api, begins: string, env?: string): Promise<string> {
  if (!/^[0-9a-f]{8,64}$/.test(begins))
    throw usageError('SHA_INVALID', `${begins} is not a digest: 8 to 64 hex digits`);
  if (begins.length === 64) return begins;
  const call = { path: '/v1/bundles', query: { env }, key: 'bundles', cursor: 'after', limit: Infinity } as const;
  const { bundles } = await readPages<'bundles', Bundle>(api, call);
  const [found, ...more] = bundles.filter(({ sha256 }) => sha256.startsWith(begins));
  if (found !== undefined && more.length === 0) return found.sha256;
  const [ofEnv, option] = env === undefined ? ['', ''] : [` of ${env}`, ` --env ${env}`];
  throw new CtlError({
    exit: exits.failed,
    code: 'BUNDLE_NOT_FOUND',
    message: `${found === undefined ? 'no bundle' : 'more than one bundle'}${ofEnv} begins with ${begins}`,
    remedy: `\`deployctl bundle list${option} --json\` shows whole digests`,
  });
}

/** True for the whole id of a host. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text);
}

/**
 * The id of the one host that a text names: by its name, this name before the first dot, the whole id, or the first 8
 * characters of the id or more. A retired host is found only if no other host is named so. Throws HOST_UNKNOWN, and
 * HOST_AMBIGUOUS with the candidates.
 */
export async function hostIdOf(api: Api, text: string): Promise<string> {
  if (isId(segmentOf(text))) return text;
  const call = { path: '/v1/backends', query: { host: text }, key: 'backends', cursor: 'after', limit: 500 } as const;
  const { backends } = await readPages<'backends', Backend>(api, call);
  const present = backends.filter(({ state }) => state !== 'retired');
  const candidates = present.length > 0 ? present : backends;
  const [found, ...more] = candidates;
  if (found === undefined) {
    const remedy = `\`deployctl host list --search ${quote(text)}\``;
    throw new CtlError({ exit: exits.failed, code: 'HOST_UNKNOWN', message: `no host is named ${text}`, remedy });
  }
  if (more.length === 0) return found.id;
  throw new CtlError({
    exit: exits.failed,
    code: 'HOST_AMBIGUOUS',
    message: `${candidates.length} hosts are named ${text}`,
    details: candidates.map(describeHost),
    remedy: 'name the host by its id: as many of the first characters as make it unique',
  });
}

/** The one host that a text names, see `hostIdOf`. */
export async function readHost(api: Api, text: string): Promise<BackendDetails> {
  const id = await hostIdOf(api, text);
  return api.call({ method: 'GET', path: path`/v1/backends/${id}` });
}

/** Adds signatures, at least one, to a bundle; returns the changed bundle. */
export async function addSignatures(api: Api, sha256: string, signatures: readonly object[]): Promise<Bundle> {
  const add = (json: object) =>
    api.call<Bundle>({ method: 'POST', path: path`/v1/bundles/${sha256}/signatures`, json });
  let bundle: Bundle | undefined;
  for (const signature of signatures) bundle = await add(signature);
  if (bundle === undefined) throw new TypeError('no signature to add');
  return bundle;
}
