import { createHash, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { TenancySettings } from '../config/configKeys.ts';
import { overloaded } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry, byService, personActor } from '../core/audit.ts';
import type { LogLine } from '../core/log.ts';
import {
  type CallUse,
  knownGroups,
  leastRole,
  type Operator,
  type Permission,
  permissionsOfGroups,
  tokenIssuer,
  type TokenUse,
  visibleEnvs,
} from '../core/permission.rules.ts';
import {
  callUseOf,
  cookieOf,
  requireSameOrigin,
  sessionCookie,
  tokenUseOf,
  unauthenticated,
} from '../http/responses.ts';
import type { Sealer } from '../keys/keyRing.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import { type IdentityProvider, type KnownPerson, type PersonClaims, SignInError } from '../peers/identityProvider.ts';
import type { OperatorRow, SessionRow } from '../store/database.ts';
import {
  addAuditEntry,
  claimSession,
  deleteSession,
  envsOf,
  findOperator,
  findOperatorById,
  findSession,
  isKnownDigest,
  recordOperatorUse,
  updateSession,
} from '../store/people.ts';

/** Dependencies for identifying operators by their tokens. */
export interface TokenDependencies extends AuditDependencies {
  readonly log: LogLine;
}

/** Dependencies for identifying people by their sessions. */
export interface SessionDependencies extends TokenDependencies {
  readonly settings: TenancySettings;
  /** Null if sign-in is not configured. */
  readonly identityProvider: IdentityProvider | null;
  /** Encrypts refresh tokens. */
  readonly sealer: Sealer;
}

/** Milliseconds between two updates of a token's last use. */
const TOKEN_USE_KEPT_MS = 60_000;

/**
 * Finds the operator of a bearer token by its digest, and updates its last use. A call with an emergency token is
 * recorded in the log and the audit log before it runs; it fails if the audit log cannot be written.
 */
export async function authenticateOperator(deps: TokenDependencies, use: TokenUse): Promise<Operator | null> {
  const row = await operatorOfToken(deps, use);
  return row && { id: row.id, name: row.name, permissions: permissionsOf(row) };
}

/** The row of an operator by its token, like `authenticateOperator`. */
export async function operatorOfToken(deps: TokenDependencies, use: TokenUse): Promise<OperatorRow | null> {
  const digest = digestOfToken(use.bearer);
  const isKnown = digest !== null && (await mayBeKnown(deps, digest));
  const row = isKnown ? await findOperator(deps.store, digest, deps.clock()) : null;
  if (row === null) return null;
  if (row.break_glass === 1) await tellBreakGlass(deps, row, use);
  await keepTokenUse(deps, row);
  return row;
}

function permissionsOf({ role, envs }: OperatorRow): Permission[] {
  return [{ role, envs: envsOf(envs) }];
}

/** False for a token or cookie that does not exist. Throws 503 while too many unknown ones wait. */
async function mayBeKnown({ store, clock }: AuditDependencies, digest: string): Promise<boolean> {
  const isKnown = await isKnownDigest(store, clock, digest);
  if (isKnown === null) throw overloaded('too many unknown tokens');
  return isKnown;
}

/** A caller as the API returns it, with the role that it has at least in every one of its environments. */
export function viewCaller({ name, permissions }: Operator) {
  const envs = visibleEnvs(permissions);
  const each = permissions.map(({ role, envs: only }) => ({ role, envs: only && [...only] }));
  return { name, role: leastRole(permissions), envs: envs && [...envs], permissions: each };
}

async function tellBreakGlass(
  deps: TokenDependencies,
  { name }: OperatorRow,
  { call, address, requestId }: CallUse,
): Promise<void> {
  deps.log('warn', `the break-glass token of ${name} is used: ${call}`, { request_id: requestId, address });
  const caller = { actor: name, act: 'operator.breakGlass', address, requestId };
  await addAuditEntry(deps.store, auditEntry(deps, caller, { target: call, env: null }));
}

/** Updates a token's last use; a store that cannot be written does not block read-only calls. */
async function keepTokenUse(
  { store, clock, log }: TokenDependencies,
  { id, name, last_used_at }: OperatorRow,
): Promise<void> {
  const now = clock();
  if (last_used_at !== null && now < last_used_at + TOKEN_USE_KEPT_MS) return;
  await recordOperatorUse(store, id, now).catch((error: unknown) =>
    log('warn', `the last use of the token of ${name} could not be kept: ${String(error)}`),
  );
}

/** Milliseconds between two updates of a session's last use. */
const SESSION_USE_KEPT_MS = 30_000;

/** A call with a session; reading calls change and reveal nothing. */
interface SessionUse extends CallUse {
  isChange: boolean;
}

/**
 * Finds the person of a session by its cookie value, and updates its last use; returns null if the session is over.
 * Throws like `personOf`. A call with the session of an emergency token is recorded before it runs.
 */
export async function authenticateSession(
  deps: SessionDependencies,
  secret: string,
  use: SessionUse,
): Promise<Operator | null> {
  const digest = digestOfSession(secret);
  const isKnown = digest !== null && (await mayBeKnown(deps, digest));
  const row = isKnown ? await findSession(deps.store, digest) : null;
  const found = row && (await personWithToken(deps, row));
  if (row === null || found === null) return null;
  const { person, token } = found;
  if (token?.break_glass === 1 && isRecorded(deps.clock(), row.id, use)) await tellBreakGlass(deps, token, use);
  if (token !== null) await keepTokenUse(deps, token);
  await keepSessionUse(deps, row);
  return person;
}

/** Milliseconds in which a page repeats reading calls of an emergency token's session without another entry. */
const REPEATS_MS = 60_000;
/** Largest number of remembered reading calls; one more clears them all, which adds entries. */
const MAX_READS = 1000;
const recordedReads = new Map<string, number>();

/** Whether a call is recorded: every change, and a reading call once a minute, because pages reload themselves. */
function isRecorded(now: number, session: string, { call, isChange }: SessionUse): boolean {
  if (isChange) return true;
  const key = `${session} ${call}`;
  if (Math.abs(now - (recordedReads.get(key) ?? -Infinity)) < REPEATS_MS) return false;
  if (recordedReads.size >= MAX_READS) recordedReads.clear();
  recordedReads.set(key, now);
  return true;
}

/**
 * The person of a session; null if the session is over. Ends the session if the person has no role any more, or if the
 * token it was created with is not valid any more. Throws PeerError if the groups must be checked and the provider
 * cannot be used.
 */
export async function personOf(deps: SessionDependencies, found: SessionRow | null): Promise<Operator | null> {
  return (found && (await personWithToken(deps, found)))?.person ?? null;
}

/** The person of a session, with the operator of the token it was created with, if it was. */
async function personWithToken(
  deps: SessionDependencies,
  found: SessionRow,
): Promise<{ person: Operator; token: OperatorRow | null } | null> {
  if (isSessionOver(found, deps.settings.session, deps.clock())) return null;
  if (found.issuer !== tokenIssuer) {
    const person = await personByProvider(deps, found);
    return person && { person, token: null };
  }
  const token = await findOperatorById(deps.store, found.subject, deps.clock());
  if (token === null) return end(deps, found, 'TOKEN_OVER');
  const { id, issuer, subject } = found;
  const person = { id, name: token.name, permissions: permissionsOf(token), session: { id, issuer, subject } };
  return { person, token };
}

async function personByProvider(deps: SessionDependencies, found: SessionRow): Promise<Operator | null> {
  const { settings, identityProvider } = deps;
  if (found.issuer !== identityProvider?.issuer) return null;
  const row = await withCurrentGroups(deps, identityProvider, found);
  if (row === null) return null;
  const permissions = permissionsOfGroups(JSON.parse(row.groups) as string[], settings.oidc.roles);
  if (permissions.length === 0) {
    await endByService(deps, row, 'NO_ROLE');
    return null;
  }
  const { id, issuer, subject, name } = row;
  return { id, name: personActor(name), permissions, session: { id, issuer, subject } };
}

async function keepSessionUse(
  { store, clock, log }: TokenDependencies,
  { id, last_used_at }: SessionRow,
): Promise<void> {
  const now = clock();
  if (now < last_used_at + SESSION_USE_KEPT_MS) return;
  await updateSession(store, id, { last_used_at: now }).catch((error: unknown) =>
    log('warn', `the last use of the session ${id} could not be kept: ${String(error)}`),
  );
}

/** Milliseconds after which an unavailable provider is called again. */
const RETRY_MS = 5000;

/** The name under which a refresh token is sealed. */
export const refreshTokenSeal = (id: string) => `refresh token of ${id}`;

/**
 * Returns a session whose groups were checked within `session.recheck_s`. If they are older, one instance queries the
 * provider and stores the answer, while others use the known groups for 30 s. Returns null if the provider refuses,
 * which ends the session. Throws PeerError if the provider cannot be used; the session then works again once the
 * provider does.
 */
async function withCurrentGroups(
  deps: SessionDependencies,
  provider: IdentityProvider,
  row: SessionRow,
): Promise<SessionRow | null> {
  const now = deps.clock();
  const age = groupsAge(row, deps.settings.session, now);
  if (age === 'known') return row;
  if (await claimSession(deps.store, row.id, { now, longestMs: RECHECK_GRACE_MS })) return recheck(deps, provider, row);
  if (age === 'due') return row;
  throw new PeerError('identity provider', 'it is being asked for the groups of a session');
}

async function recheck(
  deps: SessionDependencies,
  provider: IdentityProvider,
  row: SessionRow,
): Promise<SessionRow | null> {
  const { store, clock, sealer } = deps;
  try {
    const refreshToken = openRefreshToken(deps, row);
    if (refreshToken === null) return await end(deps, row, 'RECHECK_IMPOSSIBLE');
    const person = await provider.refresh(refreshToken, row.subject);
    const groups = JSON.stringify(groupsIn(deps, person));
    const sealed_refresh_token = sealer.seal(refreshTokenSeal(row.id), person.refreshToken ?? refreshToken);
    const changes = { groups, sealed_refresh_token, checked_at: clock(), claimed_until: 0 };
    await updateSession(store, row.id, changes);
    return { ...row, ...changes };
  } catch (error) {
    if (error instanceof SignInError) return end(deps, row, error.reason === 'denied' ? 'DENIED' : 'SIGN_IN_INVALID');
    await updateSession(store, row.id, { claimed_until: clock() + RETRY_MS });
    throw error;
  }
}

function openRefreshToken(
  { sealer }: SessionDependencies,
  { id, sealed_refresh_token: sealed }: SessionRow,
): string | null {
  return sealed && sealer.unseal(refreshTokenSeal(id), sealed);
}

/** The person's groups that have a role; throws SignInError if the claim is not a list of texts. */
export function groupsIn({ settings }: SessionDependencies, { claims }: KnownPerson): string[] {
  const { groups_claim: claim, roles } = settings.oidc;
  const groups = groupsOf(claims, claim);
  if (groups === null) throw new SignInError('invalid', `the claim ${claim} is not a list of texts`);
  return knownGroups(groups, roles);
}

async function end(deps: AuditDependencies, row: SessionRow, result: string): Promise<null> {
  await endByService(deps, row, result);
  return null;
}

/** Ends a session whose person has lost access; `result` is the reason for the audit log. */
async function endByService(deps: AuditDependencies, { id }: SessionRow, result: string): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    const ended = await deleteSession(work, id, null);
    if (ended === null) return;
    const entry = auditEntry(deps, byService('session.end'), { target: targetOf(ended), env: null });
    await addAuditEntry(work, { ...entry, result });
  });
}

/** The name of a session's owner in the audit log: of the operator for a token, otherwise with a prefix. */
export function sessionActor({ issuer, name }: Pick<SessionRow, 'issuer' | 'name'>): string {
  return issuer === tokenIssuer ? name : personActor(name);
}

/**
 * A session in the audit log: its id, the owner's name, and the id of the person at the provider or of the operator,
 * because names can be reassigned.
 */
export function targetOf(session: Pick<SessionRow, 'id' | 'issuer' | 'name' | 'subject'>): string {
  return `${session.id} ${sessionActor(session)} ${session.subject}`;
}

/**
 * Identifies the caller of the operators' API: by the bearer token, or, if there is no Authorization header, by the
 * session cookie. With a session, a call that changes or reveals something must come from a page of the service. Throws
 * 401, and 403 `CROSS_SITE_REFUSED`.
 */
export async function authenticateCaller(
  deps: SessionDependencies,
  request: FastifyRequest,
  isChange: boolean,
): Promise<Operator> {
  const secret = request.headers.authorization === undefined ? cookieOf(request, sessionCookie) : undefined;
  if (secret === undefined) {
    const operator = await authenticateOperator(deps, tokenUseOf(request));
    if (operator === null) throw unauthenticated('bearer refused');
    return operator;
  }
  if (isChange) requireSameOrigin(request.headers, deps.settings.public_url);
  const person = await authenticateSession(deps, secret, { ...callUseOf(request), isChange });
  if (person === null) throw unauthenticated('the session is over');
  return person;
}

/** Random bytes of a token; 43 characters in base64url. */
const TOKEN_BYTES = 32;

/** A new operator token, which is shown once and not stored. */
export function newOperatorToken(): string {
  return `dpo_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

/** Hex sha256 of a token, by which it is found; null for a text that is not an operator token. */
export function digestOfToken(token: string): string | null {
  return /^dpo_[\w-]{43}$/.test(token) ? createHash('sha256').update(token).digest('hex') : null;
}

/** A new value of a session cookie: 32 random bytes in base64url. */
export function newSessionSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hex sha256 of a session cookie's value, by which the session is found; null for a text of another form. */
export function digestOfSession(secret: string): string | null {
  return /^[\w-]{43}$/.test(secret) ? createHash('sha256').update(secret).digest('hex') : null;
}

/** The groups of a person; null if the claim exists and is not a list of texts. */
function groupsOf(claims: PersonClaims, claim: string): string[] | null {
  const groups = claims[claim] ?? [];
  return Array.isArray(groups) && groups.every((group) => typeof group === 'string') ? groups : null;
}

/**
 * Times of a session in milliseconds since 1970: its start, its last use, and the last check of its groups at the
 * provider.
 */
interface SessionTimes {
  created_at: number;
  last_used_at: number;
  checked_at: number;
}

/** The limits of sessions, in seconds. */
interface SessionLimits {
  readonly idle_s: number;
  readonly lifetime_s: number;
  readonly recheck_s: number;
}

/** Milliseconds for which other instances use the known groups while one queries the provider. */
const RECHECK_GRACE_MS = 30_000;

/** The times of start or last use up to which a session is over. */
export function sessionsOverBefore({ idle_s, lifetime_s }: SessionLimits, now: number) {
  return { created: now - lifetime_s * 1000, used: now - idle_s * 1000 };
}

/** True if a session was idle for too long or exceeded its lifetime; also if a clock went back by that much. */
export function isSessionOver(times: SessionTimes, { idle_s, lifetime_s }: SessionLimits, now: number): boolean {
  const age = Math.abs(now - times.created_at);
  return age >= lifetime_s * 1000 || Math.abs(now - times.last_used_at) >= idle_s * 1000;
}

/** Whether the groups are current, should be checked, or are too old to be used, as after a clock went back. */
function groupsAge({ checked_at }: SessionTimes, { recheck_s }: SessionLimits, now: number) {
  const age = now - checked_at;
  const limit = recheck_s * 1000;
  if (Math.abs(age) < limit) return 'known';
  return age >= limit && age < limit + RECHECK_GRACE_MS ? 'due' : 'unusable';
}
