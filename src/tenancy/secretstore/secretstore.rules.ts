import { isObject } from '../../core/json.rules.ts';
import { authMount } from '../keys/secretstoreRoles.rules.ts';

/** An answer of the secretstore's HTTP interface; its body is serialized. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** The fields of a 200 answer that are not empty. */
interface Payload {
  data?: object | null;
  warnings?: readonly string[] | null;
  auth?: object | null;
}

/** A 200 answer in the envelope of OpenBao; the id is random. */
export function envelope(id: string, { data = null, warnings = null, auth = null }: Payload): Answer {
  const zero = { request_id: id, lease_id: '', renewable: false, lease_duration: 0 };
  return { status: 200, body: `${goJson({ ...zero, data, wrap_info: null, warnings, auth })}\n` };
}

/** An error answer; without a text, the empty list of a read that found nothing. */
export function errorAnswer(status: number, ...errors: string[]): Answer {
  return { status, body: `${goJson({ errors })}\n` };
}

/** The text of an error that has passed OpenBao's router; clients compare it. */
export function routerError(text: string): string {
  return `1 error occurred:\n\t* ${text}\n\n`;
}

/** The refusal of a call by the policies of its token. */
export const deniedByPolicy = errorAnswer(403, routerError('permission denied'));

/** The refusal of a token that does not exist, has expired or was revoked. */
export const deadToken = errorAnswer(403, 'permission denied');

/** JSON as Go writes it: compact, with characters of HTML escaped. */
function goJson(value: object): string {
  const escape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escape);
}

/** Redirects a path with `.`, `..` or `//` to its clean form, before any other check. */
export function redirectTo(clean: string): Answer {
  const escape = (char: string) => `&#${char.charCodeAt(0)};`;
  const headers = { Location: clean, 'Content-Type': 'text/html; charset=utf-8' };
  return { status: 307, headers, body: `<a href="${clean.replace(/[<>&"']/g, escape)}">Temporary Redirect</a>.\n\n` };
}

/** The keys of an object in the order of Go's maps. */
export function sortKeys<T>(map: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Formats a duration as Go does: `1h`, `12m30s`, `0s`. */
export function formatDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts.flatMap(([n, unit]) => (n > 0 ? [`${n}${unit}`] : [])).join('') || '0s';
}

/** Parses a duration of Go, or a number of seconds; returns null for anything else, and for a negative one. */
export function parseDuration(value: unknown): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  const match = /^(?:(\d{1,9})|(?=\d)(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?)$/.exec(String(value));
  if (typeof value !== 'string' || match === null) return null;
  const [, all = 0, hours = 0, minutes = 0, seconds = 0] = match;
  return Number(all) + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

/** Formats a time in whole seconds (RFC 3339). */
export function formatSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '');
}

/** Formats a time with the nine digits of Go's RFC 3339. */
export function formatNanoseconds(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000001Z');
}

/** The fields of a JSON body, none for an empty one; null unless the body is an object. */
export function parseBody(text: string): Record<string, unknown> | null {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The refusal of a body that is not a JSON object. */
export const malformedBody = errorAnswer(400, 'error parsing JSON');

/** The refusal of a field of the wrong type. */
export function invalidField(field: string, reason: string): Answer {
  return errorAnswer(400, `Field validation failed: error converting input for field "${field}": ${reason}`);
}

/** The warning about fields that a call does not have; null if there are none. */
export function warningOfUnknown(fields: object, ...known: readonly string[]): string[] | null {
  const names = Object.keys(fields).filter((name) => !known.includes(name));
  names.sort();
  return names.length === 0 ? null : [`Endpoint ignored these unrecognized parameters: [${names.join(' ')}]`];
}

/** One version of a secret without its value. Times are milliseconds since 1970. */
export interface SecretVersion {
  version: number;
  createdAt: number;
  deletedAt: number | null;
  isDestroyed: boolean;
}

/** True if the value of a version cannot be read any more, or not until the deletion is undone. */
export function isGone({ deletedAt, isDestroyed }: SecretVersion): boolean {
  return isDestroyed || deletedAt !== null;
}

function stateOf({ createdAt, deletedAt, isDestroyed }: SecretVersion) {
  return {
    created_time: formatSeconds(createdAt),
    deletion_time: deletedAt === null ? '' : formatSeconds(deletedAt),
    destroyed: isDestroyed,
  };
}

/** The metadata of a version in the answers to reads and writes. */
export function versionMetadata(version: SecretVersion): object {
  const { created_time, ...state } = stateOf(version);
  return { created_time, custom_metadata: null, ...state, version: version.version };
}

/** The metadata of a secret with all kept versions, oldest first; null without any. */
export function secretMetadata(versions: readonly SecretVersion[]): object | null {
  const [oldest, newest] = [versions[0], versions.at(-1)];
  if (oldest === undefined || newest === undefined) return null;
  return {
    cas_required: false,
    created_time: stateOf(oldest).created_time,
    current_metadata_version: 0,
    current_version: newest.version,
    custom_metadata: null,
    delete_version_after: '0s',
    max_versions: 0,
    metadata_cas_required: false,
    oldest_version: oldest.version === 1 ? 0 : oldest.version,
    updated_time: stateOf(newest).created_time,
    versions: sortKeys(Object.fromEntries(versions.map((each) => [String(each.version), stateOf(each)]))),
  };
}

/** The names directly below a folder, sorted; names of folders end with `/`. */
export function namesBelow(keys: readonly string[], folder: string): string[] {
  const below = keys.filter((key) => key.startsWith(folder)).map((key) => key.slice(folder.length));
  return [...new Set(below.map((key) => key.replace(/\/.*/s, '/')))].sort();
}

/** Changes some fields of a secret as a JSON merge patch does (RFC 7396): null removes a field. */
export function mergePatch(present: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(present) ? Object.entries(present) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** The claims of a verified JWT. */
export type Claims = Readonly<Record<string, unknown>>;

/** A role: who may log in with which JWT, and the tokens of its logins. */
export interface TokenRole {
  boundAudiences: readonly string[];
  /** The only `sub`; null for any. */
  boundSubject: string | null;
  /** Claims that are copied into the metadata of a token, by their names there. */
  claimMappings: Readonly<Record<string, string>>;
  ttlS: number;
  /** Longest life of a token since its login, with renewals, by the current role. */
  maxTtlS: number;
  /** The same, by the role at the time of the login; 0 for none. */
  explicitMaxTtlS: number;
  /** Tolerated difference of the clocks. */
  clockSkewS: number;
  policies: readonly string[];
}

/** The calls that a policy allows: capabilities by path. `+` is any segment, `{{env}}` the token's, a final `*` the rest. */
export type PolicyRules = Readonly<Record<string, readonly string[]>>;

/** The roles and policies of a secretstore. */
export interface AuthMount {
  issuer: string;
  /** The role of a login that names none; null to refuse it. */
  defaultRole: string | null;
  roles: ReadonlyMap<string, TokenRole>;
  policies: ReadonlyMap<string, PolicyRules>;
}

/** The reason for the refusal of a login, in the words of OpenBao, which agents and operators compare. */
interface Refusal {
  error: string;
}

/** Returns the role of a login by its name; refuses a missing or unknown one. */
export function roleOf(mount: AuthMount, given: string): Refusal | { name: string; role: TokenRole } {
  const name = (given || (mount.defaultRole ?? '')).toLowerCase();
  if (name === '') return { error: 'missing role' };
  const role = mount.roles.get(name);
  return role === undefined ? { error: `role "${name}" could not be found` } : { name, role };
}

const signatureError = 'error validating token: error verifying token signature: ';
/** The refusal of a JWT that no key of the service has signed. */
export const unknownSigner: Refusal = {
  error: `${signatureError}no known key successfully validated the token signature`,
};

/** Refuses what is not a compact JWS, before its signature is verified. */
export function malformedJwt(jwt: string): Refusal | null {
  if (jwt === '') return { error: 'missing token' };
  const parts = jwt.split('.');
  if (parts.length !== 3)
    return { error: `${signatureError}go-jose/go-jose: compact JWS format must have three parts` };
  for (const part of parts) {
    const odd = part.search(/[^-_0-9A-Za-z]/);
    if (odd < 0 && part.length % 4 !== 1) continue;
    return { error: `${signatureError}illegal base64 data at input byte ${odd < 0 ? part.length - 1 : odd}` };
  }
  return null;
}

/** Refuses the claims of a verified JWT that the role does not accept, in the order of OpenBao's checks. */
export function refusedClaims(
  { issuer }: Pick<AuthMount, 'issuer'>,
  role: TokenRole,
  { claims, nowMs }: { claims: Claims; nowMs: number },
): Refusal | null {
  const fault = identityFault(issuer, role, claims) ?? timeFault(role, claims, nowMs / 1000);
  if (fault !== null) return { error: `error validating token: ${fault}` };
  return claims['sub'] === undefined ? { error: 'claim "sub" not found in token' } : null;
}

function identityFault(issuer: string, role: TokenRole, { iss, sub, aud }: Claims): string | null {
  if (sub !== undefined && typeof sub !== 'string')
    return `json: cannot unmarshal ${typeof sub} into Go struct field Claims.sub of type string`;
  if (iss !== issuer) return 'invalid issuer (iss) claim';
  if (role.boundSubject !== null && sub !== role.boundSubject) return 'invalid subject (sub) claim';
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.some((one) => role.boundAudiences.includes(String(one)))) return null;
  return 'invalid audience (aud) claim: audience claim does not match any expected audience';
}

/** Seconds that replace a missing `exp` or `nbf`. */
const MISSING_CLAIM_S = 150;

function timeFault({ clockSkewS }: TokenRole, claims: Claims, now: number): string | null {
  const [iat, givenNbf, givenExp] = ['iat', 'nbf', 'exp'].map((name) => numberIn(claims[name]));
  if (iat === undefined || givenNbf === undefined || givenExp === undefined || ![iat, givenNbf, givenExp].some(Boolean))
    return 'no issued at (iat), not before (nbf), or expiration time (exp) claims in token';
  const exp = givenExp || Math.max(iat, givenNbf) + MISSING_CLAIM_S;
  const nbf = givenNbf || iat || exp - MISSING_CLAIM_S;
  if (nbf > now + clockSkewS) return 'invalid not before (nbf) claim: token not yet valid';
  if (exp < now - clockSkewS) return 'invalid expiration time (exp) claim: token is expired';
  if (iat > now + clockSkewS) return 'invalid issued at (iat) claim: token issued in the future';
  return null;
}

/** A date of a JWT; 0 for a missing one, undefined for anything that is not a number. */
function numberIn(value: unknown = 0): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The metadata that a login stores with its token: strings of the mapped claims, and the role. */
export function metadataOf(name: string, { claimMappings }: TokenRole, claims: Claims): Record<string, string> {
  const mapped = Object.entries(claimMappings).flatMap(([claim, key]) => {
    const value = claims[claim];
    return typeof value === 'string' ? [[key, value] as const] : [];
  });
  return sortKeys({ ...Object.fromEntries(mapped), role: name });
}

/** A token of the store. Times are milliseconds since 1970. */
export interface Token {
  accessor: string;
  role: string;
  subject: string;
  meta: Readonly<Record<string, string>>;
  policies: readonly string[];
  entityId: string;
  issuedAt: number;
  creationTtlS: number;
  explicitMaxTtlS: number;
  expiresAt: number;
  renewedAt: number | null;
}

/** The lifetimes that limit a token, in seconds. */
interface TtlRequest {
  role: Pick<TokenRole, 'ttlS' | 'maxTtlS'>;
  explicitMaxTtlS: number;
  /** The requested lifetime; 0 for the role's. */
  incrementS: number;
  /** Seconds since the login. */
  ageS: number;
}

/** The lifetime that a login or renewal grants, with a warning if it was capped; null after the longest life. */
export function grantedTtl({ role, explicitMaxTtlS, incrementS, ageS }: TtlRequest) {
  const leftS = Math.min(role.maxTtlS, explicitMaxTtlS || Infinity) - ageS;
  if (leftS <= 0) return null;
  const wantedS = incrementS || role.ttlS;
  const isCapped = leftS < wantedS;
  const limits = `"${formatDuration(wantedS)}" exceeded the effective max_ttl of "${formatDuration(leftS)}"`;
  const warnings = isCapped ? [`TTL of ${limits}; TTL value is capped accordingly`] : null;
  return { ttlS: isCapped ? leftS : wantedS, warnings };
}

/** Whole seconds since the login, as OpenBao counts them. */
export function ageOf({ issuedAt }: Pick<Token, 'issuedAt'>, nowMs: number): number {
  return Math.floor(nowMs / 1000) - Math.floor(issuedAt / 1000);
}

/** The `auth` of the answers to a login and a renewal. */
export function authOf(id: string, { accessor, policies, meta, entityId }: Token, ttlS: number): object {
  return {
    client_token: id,
    ...{ accessor, policies, token_policies: policies, metadata: meta },
    ...{ lease_duration: ttlS, renewable: true, entity_id: entityId, token_type: 'service', orphan: true },
    ...{ mfa_requirement: null, num_uses: 0 },
  };
}

/** The `data` of the answer to a look-up of a token. */
export function lookUpOf(id: string, token: Token, nowMs: number): Record<string, unknown> {
  const seconds = (ms: number) => Math.floor(ms / 1000);
  return sortKeys({
    ...{ id, accessor: token.accessor, meta: token.meta, policies: token.policies, entity_id: token.entityId },
    creation_time: seconds(token.issuedAt),
    creation_ttl: token.creationTtlS,
    display_name: `${authMount}-${token.subject}`,
    expire_time: formatNanoseconds(token.expiresAt),
    explicit_max_ttl: token.explicitMaxTtlS,
    issue_time: formatNanoseconds(token.issuedAt),
    ...(token.renewedAt !== null && {
      last_renewal: formatNanoseconds(token.renewedAt),
      last_renewal_time: seconds(token.renewedAt),
    }),
    ...{ num_uses: 0, orphan: true, path: `auth/${authMount}/login`, renewable: true, type: 'service' },
    ttl: seconds(token.expiresAt - nowMs),
  });
}

/** True if a policy of the token allows the call. A path that no rule names is denied. */
export function isAllowed(
  { policies: known }: Pick<AuthMount, 'policies'>,
  { policies, meta }: Pick<Token, 'policies' | 'meta'>,
  { path, capability }: { path: string; capability: string },
): boolean {
  return policies
    .flatMap((name) => Object.entries(known.get(name) ?? {}))
    .some(([pattern, capabilities]) => capabilities.includes(capability) && matches(pattern, path, meta['env']));
}

function matches(pattern: string, path: string, env: string | undefined): boolean {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  const hasRest = wanted.at(-1) === '*';
  if (hasRest) wanted.pop();
  if (hasRest ? given.length <= wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, index) => {
    if (segment === '+') return given[index] !== '';
    return given[index] === (segment === '{{env}}' ? env : segment);
  });
}
