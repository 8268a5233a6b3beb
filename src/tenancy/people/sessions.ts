import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import {
  type AuditCaller,
  type CallUse,
  forbiddenReason,
  leastRole,
  type Operator,
  permissionsOfGroups,
  sessionOwner,
  tokenIssuer,
  visibleEnvs,
} from '../core/permission.rules.ts';
import {
  type IdentityProvider,
  type KnownPerson,
  type PersonClaims,
  SignInError,
  type SignInSecrets,
} from '../peers/identityProvider.ts';
import type { SessionOwner, SessionRow } from '../store/database.ts';
import {
  addAuditEntry,
  deleteSession,
  envsOf,
  findSession,
  insertSession,
  listOperators,
  listSessions as selectSessions,
} from '../store/people.ts';
import {
  digestOfSession,
  groupsIn,
  isSessionOver,
  newSessionSecret,
  operatorOfToken,
  refreshTokenSeal,
  sessionActor,
  type SessionDependencies,
  targetOf,
} from './authenticate.ts';
import type { Session } from './peopleSchemas.ts';

/** Active sessions, newest first: one's own, or, for an administrator of all environments, all of them. */
export async function listSessions(deps: SessionDependencies, operator: Operator): Promise<Session[]> {
  const { settings, clock, store } = deps;
  const [rows, operators] = await Promise.all([
    selectSessions(store, visibleOwner(operator)),
    listOperators(store, clock()),
  ]);
  const tokens = new Map(operators.map((each) => [each.id, each]));
  return rows.flatMap((row): Session[] => {
    const isToken = row.issuer === tokenIssuer;
    const token = isToken ? tokens.get(row.subject) : undefined;
    if (isSessionOver(row, settings.session, clock()) || (isToken && token === undefined)) return [];
    const permissions = token
      ? [{ role: token.role, envs: envsOf(token.envs) }]
      : permissionsOfGroups(JSON.parse(row.groups) as string[], settings.oidc.roles);
    const envs = visibleEnvs(permissions);
    const { id, subject, address } = row;
    return [
      {
        ...{ id, name: sessionActor(row), method: isToken ? 'token' : 'openid', subject, address },
        current: id === operator.session?.id,
        role: permissions.length === 0 ? null : leastRole(permissions),
        envs: envs && [...envs],
        created_at: toTime(row.created_at),
        last_used_at: toTime(row.last_used_at),
        expires_at: toTime(
          Math.min(row.created_at + settings.session.lifetime_s * 1000, token?.expires_at ?? Infinity),
        ),
      },
    ];
  });
}

function administersSessions({ permissions }: Operator): boolean {
  return forbiddenReason(permissions, { role: 'admin', env: { every: true } }) === null;
}

/** The owner of the sessions that a caller sees and may end; null for administrators of all environments, who may all. */
function visibleOwner(operator: Operator): SessionOwner | null {
  return administersSessions(operator) ? null : sessionOwner(operator);
}

/** Ends a session at once: one's own, or, as an administrator of all environments, any session. Throws 404. */
export async function endSession(
  deps: AuditDependencies,
  { operator, caller, id }: { operator: Operator; caller: AuditCaller; id: string },
): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    const ended = await deleteSession(work, id, visibleOwner(operator));
    if (ended === null) throw notFound('session');
    await addAuditEntry(work, auditEntry(deps, caller, { target: targetOf(ended), env: null }));
  });
}

/** Ends the session of a cookie, if there is one, without calling the provider. */
export async function signOut(
  deps: AuditDependencies,
  { secret, address, requestId }: { secret: string; address: string; requestId: string },
): Promise<void> {
  const digest = digestOfSession(secret);
  const found = digest === null ? null : await findSession(deps.store, digest);
  if (found === null) return;
  const caller = { actor: sessionActor(found), act: 'session.end', address, requestId };
  await deps.store.transaction().execute(async (work) => {
    if ((await deleteSession(work, found.id, null)) === null) return;
    await addAuditEntry(work, auditEntry(deps, caller, { target: targetOf(found), env: null }));
  });
}

/** Milliseconds that a person may take at the provider. */
export const SIGN_IN_MS = 10 * 60_000;

const SEAL = 'sign-in';

/** Data that the browser keeps, sealed, between the two halves of a sign-in. */
interface BegunSignIn extends SignInSecrets {
  returnTo: string;
  /** Milliseconds since 1970. */
  until: number;
}

/**
 * Starts a sign-in: returns the address of the provider and the sealed text for the browser. Throws 404 if there is no
 * provider.
 */
export async function beginSignIn(
  deps: SessionDependencies,
  wish: string | undefined,
): Promise<{ url: string; kept: string }> {
  const { url, secrets } = await providerOf(deps).beginSignIn();
  const begun: BegunSignIn = { ...secrets, returnTo: returnPath(wish), until: deps.clock() + SIGN_IN_MS };
  return { url, kept: deps.sealer.seal(SEAL, JSON.stringify(begun)) };
}

/** The second half of a sign-in: the query of the callback, the text from the browser, and the caller. */
interface Callback {
  query: string;
  kept: string | undefined;
  address: string;
  requestId: string;
  /** Throws 429 if this person has signed in too often. */
  limit: (subject: string) => void;
}

/** Finishes a sign-in with a new session. Throws PeerError, and ApiErrors for the error page. */
export async function finishSignIn(deps: SessionDependencies, callback: Callback) {
  const provider = providerOf(deps);
  const begun = openBegun(deps, callback.kept);
  if (begun === null || new URLSearchParams(callback.query).get('state') !== begun.state)
    throw refusal(400, 'SIGN_IN_EXPIRED', 'this sign-in was not begun in this browser, or not last, or took too long');
  try {
    const person = await provider.finishSignIn(callback.query, begun);
    callback.limit(person.claims.sub);
    return { secret: await addSession(deps, { provider, person, callback }), returnTo: begun.returnTo };
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    deps.log('warn', `a sign-in has failed: ${error.message}`, {
      request_id: callback.requestId,
      address: callback.address,
    });
    if (error.reason === 'denied')
      throw refusal(403, 'SIGN_IN_DENIED', 'the identity provider has refused the sign-in');
    throw refusal(
      502,
      'SIGN_IN_INVALID',
      'the response of the identity provider is invalid; see the log of the service',
    );
  }
}

interface NewSession {
  provider: IdentityProvider;
  person: KnownPerson;
  callback: Callback;
}

async function addSession(deps: SessionDependencies, { provider, person, callback }: NewSession): Promise<string> {
  const { settings, sealer } = deps;
  const { claims, refreshToken } = person;
  const name = nameOf(claims, settings.oidc.name_claim);
  const groups = groupsIn(deps, person);
  const id = randomUUID();
  const { secret, row } = newSession(deps, {
    ...{ id, issuer: provider.issuer, subject: claims.sub, name, address: callback.address },
    groups: JSON.stringify(groups),
    sealed_refresh_token: refreshToken && sealer.seal(refreshTokenSeal(id), refreshToken),
  });
  if (groups.length === 0) {
    await addAuditEntry(deps.store, { ...createEntry(deps, row, callback), result: 'NO_ROLE' });
    throw refusal(403, 'NO_ROLE', `${name} is in no group that has a role here`);
  }
  await storeSession(deps, row, callback);
  return secret;
}

type OwnFields = 'id' | 'issuer' | 'subject' | 'name' | 'address' | 'groups' | 'sealed_refresh_token';
type SignInCall = Pick<CallUse, 'address' | 'requestId'>;

/** A session that begins now, and the value of its cookie, which the row does not contain. */
function newSession(deps: SessionDependencies, own: Pick<SessionRow, OwnFields>): { secret: string; row: SessionRow } {
  const secret = newSessionSecret();
  const now = deps.clock();
  const times = { created_at: now, last_used_at: now, checked_at: now, claimed_until: 0 };
  return { secret, row: { ...own, secret_sha256: digestOfSession(secret) ?? '', ...times } };
}

function createEntry(deps: SessionDependencies, row: SessionRow, { address, requestId }: SignInCall) {
  const caller = { actor: sessionActor(row), act: 'session.create', address, requestId };
  return auditEntry(deps, caller, { target: targetOf(row), env: null });
}

async function storeSession(deps: SessionDependencies, row: SessionRow, call: SignInCall): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    await insertSession(work, row);
    await addAuditEntry(work, createEntry(deps, row, call));
  });
}

/** A sign-in with an operator's token. */
interface TokenSignIn extends CallUse {
  token: string;
  /** Throws 429 if this operator has signed in too often. */
  limit: (subject: string) => void;
}

/**
 * Exchanges the token of an operator for a session, whose cookie value it returns; null if the token is not valid. The
 * session ends with the token. Throws 404 where browsers would not keep the cookie.
 */
export async function signInWithToken(
  deps: SessionDependencies,
  { token, limit, ...call }: TokenSignIn,
): Promise<string | null> {
  if (!mayKeepSessions(deps))
    throw refusal(404, 'SIGN_IN_UNAVAILABLE', 'people can sign in only where public_url is https:// without a path');
  const operator = await operatorOfToken(deps, { bearer: token, ...call });
  if (operator === null) {
    const { requestId, address } = call;
    deps.log('warn', 'a sign-in has failed: the token is not valid', { request_id: requestId, address });
    return null;
  }
  limit(operator.id);
  const { secret, row } = newSession(deps, {
    ...{ id: randomUUID(), issuer: tokenIssuer, subject: operator.id, name: operator.name, address: call.address },
    ...{ groups: '[]', sealed_refresh_token: null },
  });
  await storeSession(deps, row, call);
  return secret;
}

/** Whether browsers keep the cookie of a session, and find the console at its path. */
export function mayKeepSessions({ settings }: Pick<SessionDependencies, 'settings'>): boolean {
  const { protocol, pathname } = new URL(settings.public_url);
  return protocol === 'https:' && pathname === '/';
}

function providerOf({ identityProvider }: SessionDependencies): IdentityProvider {
  if (identityProvider !== null) return identityProvider;
  throw refusal(404, 'SIGN_IN_UNAVAILABLE', 'people cannot sign in here: the service has no `oidc.issuer_url`');
}

function openBegun({ sealer, clock }: SessionDependencies, kept: string | undefined): BegunSignIn | null {
  const text = kept === undefined ? null : sealer.unseal(SEAL, kept);
  const begun = text === null ? null : (JSON.parse(text) as BegunSignIn);
  return begun !== null && clock() < begun.until ? begun : null;
}

function refusal(status: number, code: string, message: string): ApiError {
  return new ApiError({ status, code, message });
}

/** Path of the console's first page. */
export const consolePath = '/console/';
/** Paths where a sign-in starts, where the provider redirects people to, and where a session ends. */
export const signInPath = '/console/sign-in';
export const callbackPath = '/console/callback';
export const signOutPath = '/console/sign-out';
export const signedOutPath = '/console/signed-out';

/** Paths of the script and the style sheet. */
export const scriptPath = '/console/console.js';
export const stylePath = '/console/console.css';

/** The page to open after a sign-in: the requested path if it is below the console, otherwise the first page. */
export function returnPath(wish: string | undefined): string {
  const isOwn = wish !== undefined && wish.length <= 512 && /^\/console\/[\w./?=&%~+,:@*-]*$/.test(wish);
  // A browser leaves the console by `..`, also if that is encoded.
  return isOwn && new URL(wish, 'https://any').pathname.startsWith(consolePath) ? wish : consolePath;
}

/** The display name of a person, in one line; the subject if the claim is missing or is an unverified address. */
export function nameOf(claims: PersonClaims, claim: string): string {
  const name = claims[claim];
  const isUsable = typeof name === 'string' && /^[^\p{C}\p{Z}](?:[^\p{C}]{0,126}[^\p{C}\p{Z}])?$/u.test(name);
  const isUnverified = claim === 'email' && String(claims['email_verified']) === 'false';
  return isUsable && !isUnverified ? name : String(claims['sub']);
}
