import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { isObject } from '../../core/json.rules.ts';
import { authMount, secretsMount } from '../keys/secretstoreRoles.rules.ts';
import {
  type Answer,
  deadToken,
  deniedByPolicy,
  envelope,
  errorAnswer,
  invalidField,
  isGone,
  malformedBody,
  namesBelow,
  parseBody,
  parseDuration,
  redirectTo,
  routerError,
  secretMetadata,
  sortKeys,
  versionMetadata,
  warningOfUnknown,
  ageOf,
  type AuthMount,
  authOf,
  type Claims,
  grantedTtl,
  isAllowed,
  lookUpOf,
  malformedJwt,
  metadataOf,
  refusedClaims,
  roleOf,
  type Token,
  unknownSigner,
} from './secretstore.rules.ts';
import {
  addToken,
  changeVersions,
  extendToken,
  findToken,
  listNewest,
  listVersions,
  readVersion,
  removeSecret,
  removeToken,
  type SecretPlace,
  type SecretRecords,
  writeVersion,
} from './records.ts';

/** The embedded secretstore behind its HTTP interface. */
export interface CallDependencies extends SecretRecords {
  readonly mount: AuthMount;
  /** Returns the claims of a JWT that a key of the service has signed; null for any other. */
  readonly verifyJwt: (jwt: string) => Promise<Claims | null>;
}

/** A request to the secretstore. */
export interface StoreRequest {
  method: string;
  /** Path with `/v1/`, as it was sent. */
  path: string;
  query: URLSearchParams;
  /** The caller's token; empty without one. */
  token: string;
  /** Null for the root. */
  namespace: string | null;
  body: string;
}

/** A request with a token whose policies allow it. */
interface AllowedCall extends StoreRequest {
  id: string;
  caller: Token;
}

const loginPath = `auth/${authMount}/login`;
const PREFIX = '/v1/';

/** Answers a request as OpenBao does, as far as agents and the service use it. Throws errors of the store. */
export async function answerCall(deps: CallDependencies, request: StoreRequest): Promise<Answer> {
  const clean = posix.normalize(request.path);
  if (clean !== request.path) return redirectTo(clean);
  if (request.namespace !== null) return errorAnswer(404, 'namespace not found');
  const path = decoded(request.path);
  if (path === null || !path.startsWith(PREFIX)) return errorAnswer(404);
  const route = path.slice(PREFIX.length);
  if (route === 'sys/health' && ['GET', 'HEAD'].includes(request.method)) return answerHealth(deps);
  if (route === loginPath) return answerLogin(deps, request);
  const caller = await findToken(deps, request.token);
  if (caller === null) return deadToken;
  const isList = request.method === 'GET' && request.query.get('list') === 'true';
  const target = isList ? route.replace(/\/*$/, '/') : route;
  // An existing secret needs `update`, and a new one `create`; both policies that write have both.
  const capability = isList ? 'list' : capabilities[request.method];
  if (capability === undefined) return errorAnswer(405, routerError('unsupported operation'));
  if (!isAllowed(deps.mount, caller, { path: target, capability })) return deniedByPolicy;
  return answerAllowed(deps, { ...request, path: target, id: request.token, caller }, capability);
}

const capabilities: Partial<Record<string, string>> = {
  ...{ GET: 'read', HEAD: 'read', POST: 'update', PUT: 'update', PATCH: 'patch', DELETE: 'delete' },
};

function decoded(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

/** The health of a store that can be read; no answer has any other state. */
async function answerHealth({ store, clock }: CallDependencies): Promise<Answer> {
  await store.selectFrom('secretstore_keys').select('id').limit(1).execute();
  const state = { initialized: true, sealed: false, standby: false, performance_standby: false };
  const replication = { replication_performance_mode: 'disabled', replication_dr_mode: 'disabled' };
  const body = { ...state, ...replication, server_time_utc: Math.floor(clock() / 1000), version: 'deployd' };
  return { status: 200, body: `${JSON.stringify(body)}\n` };
}

/** A field of a body as text; OpenBao converts numbers and booleans. */
function textField(body: Record<string, unknown>, name: string): string | null {
  const value = body[name] ?? '';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

async function answerLogin(deps: CallDependencies, { method, body: text }: StoreRequest): Promise<Answer> {
  if (method !== 'POST' && method !== 'PUT') return errorAnswer(405, 'unsupported operation');
  const body = parseBody(text);
  if (body === null) return malformedBody;
  const [given, jwt] = [textField(body, 'role'), textField(body, 'jwt')];
  if (given === null || jwt === null) return wrongType(body, given === null ? 'role' : 'jwt');
  const found = roleOf(deps.mount, given);
  if ('error' in found) return errorAnswer(400, found.error);
  const malformed = malformedJwt(jwt);
  if (malformed !== null) return errorAnswer(400, malformed.error);
  const claims = await deps.verifyJwt(jwt);
  if (claims === null) return errorAnswer(400, unknownSigner.error);
  const nowMs = deps.clock();
  const refused = refusedClaims(deps.mount, found.role, { claims, nowMs });
  if (refused !== null) return errorAnswer(400, refused.error);
  const { answer, warnings } = await issue(deps, { ...found, claims, nowMs });
  const all = [...(warnings ?? []), ...(warningOfUnknown(body, 'role', 'jwt') ?? [])];
  return envelope(randomUUID(), { auth: answer, warnings: all.length > 0 ? all : null });
}

function wrongType(body: Record<string, unknown>, field: string): Answer {
  const type = Array.isArray(body[field]) ? '[]interface {}' : 'map[string]interface {}';
  return invalidField(field, `'' expected type 'string', got unconvertible type '${type}'`);
}

async function issue(
  deps: CallDependencies,
  {
    name,
    role,
    claims,
    nowMs,
  }: Extract<ReturnType<typeof roleOf>, { role: unknown }> & { claims: Claims; nowMs: number },
) {
  const life = { role, explicitMaxTtlS: role.explicitMaxTtlS, incrementS: 0, ageS: 0 };
  const { ttlS, warnings } = grantedTtl(life) ?? { ttlS: role.ttlS, warnings: null };
  const { id, token } = await addToken(deps, {
    ...{ role: name, subject: String(claims['sub']), meta: metadataOf(name, role, claims), policies: role.policies },
    ...{ issuedAt: nowMs, creationTtlS: ttlS, explicitMaxTtlS: role.explicitMaxTtlS },
    expiresAt: nowMs + ttlS * 1000,
  });
  return { answer: authOf(id, token, ttlS), warnings };
}

/** Answers of paths to calls with a capability, which the policies have allowed. */
async function answerAllowed(deps: CallDependencies, call: AllowedCall, capability: string): Promise<Answer> {
  const answer = tokenCalls[`${capability} ${call.path}`];
  if (answer !== undefined) return answer(deps, call);
  const [, part = '', env = '', key = ''] = secretPath.exec(call.path) ?? [];
  const secretCall = secretCalls[`${capability} ${part}`];
  if (env === '' || (key === '' && capability !== 'list') || secretCall === undefined) return noHandler(call);
  return secretCall(deps, call, { env, key });
}

/** A path of the KV engine; every secret of an environment is below `see`. */
const secretPath = new RegExp(`^${secretsMount}/(data|metadata|delete|undelete|destroy)/([^/]+)/see/(.*)$`, 's');

function noHandler({ path }: AllowedCall): Answer {
  return errorAnswer(404, `no handler for route "${path}". route entry not found.`);
}

const tokenCalls: Partial<Record<string, (deps: CallDependencies, call: AllowedCall) => Promise<Answer>>> = {
  'read auth/token/lookup-self': async (deps, { id, caller }) => lookUp(deps, id, caller),
  'update auth/token/renew-self': renew,
  'update auth/token/revoke-self': async (deps, { caller }) => {
    await removeToken(deps, caller.accessor);
    return { status: 204 };
  },
  'update auth/token/lookup': async (deps, { id: own, body }) => {
    const fields = parseBody(body);
    if (fields === null) return malformedBody;
    // Without a token in its body, the call is about the caller's own.
    const id = textField(fields, 'token') || own;
    const token = await findToken(deps, id);
    return token === null ? errorAnswer(403, 'bad token') : lookUp(deps, id, token);
  },
  'update auth/token/revoke-accessor': async (deps, { body }) => {
    const fields = parseBody(body);
    if (fields === null) return malformedBody;
    const accessor = textField(fields, 'accessor') ?? '';
    if (accessor === '') return errorAnswer(400, routerError('missing accessor'));
    if (await removeToken(deps, accessor)) return { status: 204 };
    return envelope(randomUUID(), { warnings: ['No token found with this accessor'] });
  },
};

function lookUp({ clock }: CallDependencies, id: string, token: Token): Answer {
  return envelope(randomUUID(), { data: lookUpOf(id, token, clock()) });
}

async function renew(deps: CallDependencies, { id, caller, body }: AllowedCall): Promise<Answer> {
  const fields = parseBody(body);
  if (fields === null) return malformedBody;
  const { increment = 0 } = fields;
  if (typeof increment === 'object' && increment !== null) return wrongType(fields, 'increment');
  const incrementS = parseDuration(increment);
  if (incrementS === null) return invalidField('increment', `time: invalid duration ${JSON.stringify(increment)}`);
  const role = deps.mount.roles.get(caller.role);
  if (role === undefined)
    return errorAnswer(500, routerError(`failed to renew entry: role ${caller.role} does not exist during renewal`));
  const now = deps.clock();
  const { explicitMaxTtlS } = caller;
  const granted = grantedTtl({ role, explicitMaxTtlS, incrementS, ageS: ageOf(caller, now) });
  if (granted === null) return errorAnswer(500, routerError('past the max TTL, cannot renew'));
  const { ttlS, warnings } = granted;
  if (!(await extendToken(deps, caller.accessor, now + ttlS * 1000))) return deadToken;
  return envelope(randomUUID(), { auth: authOf(id, caller, ttlS), warnings });
}

type SecretCall = (deps: CallDependencies, call: AllowedCall, place: SecretPlace) => Promise<Answer>;

const secretCalls: Partial<Record<string, SecretCall>> = {
  'read data': readSecret,
  'update data': (deps, call, place) => writeSecret(deps, call, { place, by: 'replace' }),
  'patch data': (deps, call, place) => writeSecret(deps, call, { place, by: 'patch' }),
  'delete data': async (deps, _call, place) => {
    await changeVersions(deps, place, { act: 'delete', versions: 'newest' });
    return { status: 204 };
  },
  'read metadata': async (deps, _call, place) => {
    const data = secretMetadata(await listVersions(deps, place));
    return data === null ? errorAnswer(404) : envelope(randomUUID(), { data });
  },
  'list metadata': async (deps, _call, { env, key: folder }) => {
    const keys = namesBelow(
      (await listNewest(deps, env)).map(({ key }) => key),
      folder,
    );
    return keys.length === 0 ? errorAnswer(404) : envelope(randomUUID(), { data: { keys } });
  },
  'delete metadata': async (deps, _call, place) => {
    await removeSecret(deps, place);
    return { status: 204 };
  },
  'update delete': (deps, call, place) => change(deps, call, { place, act: 'delete' }),
  'update undelete': (deps, call, place) => change(deps, call, { place, act: 'undelete' }),
  'update destroy': (deps, call, place) => change(deps, call, { place, act: 'destroy' }),
};

async function readSecret(deps: CallDependencies, { query }: AllowedCall, place: SecretPlace): Promise<Answer> {
  const version = query.get('version') ?? '0';
  if (!/^\d{1,15}$/.test(version))
    return invalidField('version', "'' cannot parse value as 'int': strconv.ParseInt: invalid syntax");
  const read = await readVersion(deps, place, Number(version));
  if (read === null) return errorAnswer(404);
  const { found, fields } = read;
  const answer = envelope(randomUUID(), {
    data: { data: fields && sortKeys(fields), metadata: versionMetadata(found) },
  });
  return isGone(found) ? goneAnswer(answer) : answer;
}

/** OpenBao writes this body without a final line break. */
function goneAnswer({ body = '' }: Answer): Answer {
  return { status: 404, body: body.trimEnd() };
}

async function writeSecret(
  deps: CallDependencies,
  { body }: AllowedCall,
  { place, by }: { place: SecretPlace; by: 'replace' | 'patch' },
): Promise<Answer> {
  const given = parseBody(body);
  if (given === null) return malformedBody;
  const { data: fields, options } = given;
  if (fields === undefined) return errorAnswer(400, 'no data provided');
  if (!isObject(fields)) return invalidField('data', "'' expected a map");
  const { cas } = isObject(options) ? options : {};
  if (cas !== undefined && !Number.isSafeInteger(cas)) return invalidField('cas', "'' cannot parse value as 'int'");
  const result = await writeVersion(deps, place, { fields, cas: cas as number | undefined, by });
  if (result === 'differs') return errorAnswer(400, 'check-and-set parameter did not match the current version');
  if ('written' in result) {
    const warnings = by === 'patch' ? null : warningOfUnknown(given, 'data', 'options');
    return envelope(randomUUID(), { data: versionMetadata(result.written), warnings });
  }
  if (result.gone === null) return { status: 404 };
  return goneAnswer(envelope(randomUUID(), { data: versionMetadata(result.gone) }));
}

async function change(
  deps: CallDependencies,
  { body }: AllowedCall,
  { place, act }: { place: SecretPlace; act: 'delete' | 'undelete' | 'destroy' },
): Promise<Answer> {
  const { versions } = parseBody(body) ?? {};
  if (!Array.isArray(versions) || versions.length === 0) return errorAnswer(400, 'No version number provided');
  await changeVersions(deps, place, { act, versions: versions.map(Number) });
  return { status: 204 };
}

/** True if the answer refuses its caller, who may be guessing tokens. */
export function isRefusal({ status }: Answer): boolean {
  return status === 400 || status === 403;
}
