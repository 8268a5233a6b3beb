import { randomUUID } from 'node:crypto';
import { ApiError } from '../core/apiError.rules.ts';
import { auditEntry, personActor } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import { leastRole, type Operator, permissionsOfGroups, visibleEnvs } from '../core/permission.rules.ts';
import {
  type IdentityProvider,
  type KnownPerson,
  type PersonClaims,
  SignInError,
  type SignInSecrets,
} from '../peers/identityProvider.ts';
import { addAuditEntry, insertSession, listSessions as selectSessions } from '../store/people.ts';
import {
  administersSessions,
  digestOfSession,
  groupsIn,
  isSessionOver,
  newSessionSecret,
  refreshTokenSeal,
  type SessionDependencies,
  targetOf,
} from './authenticate.ts';
import type { Session } from './peopleSchemas.ts';

/** Active sessions, newest first: one's own, or, for an administrator of all environments, all of them. */
export async function listSessions(deps: SessionDependencies, operator: Operator): Promise<Session[]> {
  const { settings, clock, store } = deps;
  const subject = administersSessions(operator) ? null : operator.session?.subject;
  const rows = subject === undefined ? [] : await selectSessions(store, subject);
  const current = rows.filter((row) => !isSessionOver(row, settings.session, clock()));
  return current.map(({ id, name, subject: person, groups, address, created_at, last_used_at }) => {
    const permissions = permissionsOfGroups(JSON.parse(groups) as string[], settings.oidc.roles);
    const envs = visibleEnvs(permissions);
    return {
      ...{ id, name: personActor(name), subject: person, address, current: id === operator.session?.id },
      role: permissions.length === 0 ? null : leastRole(permissions),
      envs: envs && [...envs],
      created_at: toTime(created_at),
      last_used_at: toTime(last_used_at),
      expires_at: toTime(created_at + settings.session.lifetime_s * 1000),
    };
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
  const { settings, sealer, store } = deps;
  const { claims, refreshToken } = person;
  const name = nameOf(claims, settings.oidc.name_claim);
  const groups = groupsIn(deps, person);
  const secret = newSessionSecret();
  const id = randomUUID();
  const now = deps.clock();
  const row = {
    ...{ id, secret_sha256: digestOfSession(secret) ?? '', issuer: provider.issuer, subject: claims.sub, name },
    groups: JSON.stringify(groups),
    sealed_refresh_token: refreshToken && sealer.seal(refreshTokenSeal(id), refreshToken),
    ...{ address: callback.address, created_at: now, last_used_at: now, checked_at: now, claimed_until: 0 },
  };
  const { address, requestId } = callback;
  const caller = { actor: personActor(name), act: 'session.create', address, requestId };
  const entry = auditEntry(deps, caller, { target: targetOf(row), env: null });
  if (groups.length === 0) {
    await addAuditEntry(store, { ...entry, result: 'NO_ROLE' });
    throw refusal(403, 'NO_ROLE', `${name} is in no group that has a role here`);
  }
  await store.transaction().execute(async (work) => {
    await insertSession(work, row);
    await addAuditEntry(work, entry);
  });
  return secret;
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
function returnPath(wish: string | undefined): string {
  const isOwn = wish !== undefined && wish.length <= 512 && /^\/console\/[\w./?=&%~+,:@-]*$/.test(wish);
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
