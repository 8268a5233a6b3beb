import { createHash, randomBytes } from 'node:crypto';
import { record } from './json.ts';
import type { Answer, Rest } from './rest.ts';
import { MeshTrouble } from './trouble.ts';

/** Registered at every controller for clients like this one; nothing listens there, and it is never fetched. */
const REDIRECT_URI = 'http://localhost:20314/auth/callback';
const CLIENT_ID = 'openziti';

/** What a login by OIDC gives; both are secrets. The access token is what controllers and routers want to see. */
interface Tokens {
  access: string;
  /** Ends both when it is revoked; null from a controller that gives none. */
  refresh: string | null;
}

/** Logs in with the identity's certificate at the controller's OIDC provider. */
export async function loginByOidc(rest: Rest, origin: string): Promise<Tokens> {
  const [state, verifier] = [secret(), secret()];
  const begun = await rest.ask(authorizeUrl(origin, { state, verifier }), { method: 'GET' });
  const request = paramOf(begun, 'authRequestID') ?? headerOf(begun, 'auth-request-id');
  if (request === null) throw refusedAt('authorize', begun);
  const login = new URL(`/oidc/login/cert?id=${encodeURIComponent(request)}`, origin);
  const shown = await rest.ask(login, { method: 'POST', body: { id: request } });
  if (shown.status === 200) throw new MeshTrouble('unsupported', 'the identity is asked for a second factor');
  const onward = headerOf(shown, 'location');
  if (shown.status === 401 || shown.status === 403) throw identityRefused();
  if (onward === null) throw refusedAt('login', shown);
  const back = await rest.ask(sameOrigin(onward, origin), { method: 'GET' });
  const code = paramOf(back, 'code');
  if (code === null || paramOf(back, 'state') !== state) throw refusedAt('callback', back);
  return exchange(rest, origin, { code, verifier });
}

function authorizeUrl(origin: string, { state, verifier }: { state: string; verifier: string }): URL {
  const url = new URL('/oidc/authorize', origin);
  url.search = new URLSearchParams({
    client_id: CLIENT_ID,
    response_type: 'code',
    scope: 'openid offline_access',
    redirect_uri: REDIRECT_URI,
    state,
    nonce: secret(),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  return url;
}

/** Ends a login by its refresh token: a controller takes an access token that is revoked by itself for a good one. */
export async function logoutByOidc(rest: Rest, origin: string, refresh: string): Promise<void> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, token: refresh, token_type_hint: 'refresh_token' });
  await rest.ask(new URL('/oidc/revoke', origin), { method: 'POST', body, outlives: true });
}

async function exchange(rest: Rest, origin: string, grant: { code: string; verifier: string }): Promise<Tokens> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    code: grant.code,
    code_verifier: grant.verifier,
    redirect_uri: REDIRECT_URI,
  });
  const answer = await rest.ask(new URL('/oidc/oauth/token', origin), { method: 'POST', body, outlives: true });
  const { access_token: access, refresh_token: refresh } = record(answer.json);
  if (answer.status !== 200 || typeof access !== 'string') throw refusedAt('token', answer);
  return { access, refresh: typeof refresh === 'string' ? refresh : null };
}

/** A parameter of the address that an answer redirects to. */
function paramOf(answer: Answer, name: string): string | null {
  const location = headerOf(answer, 'location');
  if (location === null || !URL.canParse(location, REDIRECT_URI)) return null;
  return new URL(location, REDIRECT_URI).searchParams.get(name);
}

function headerOf({ headers }: Answer, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function sameOrigin(location: string, origin: string): URL {
  const url = URL.parse(location, origin);
  if (url?.origin !== origin) throw new MeshTrouble('protocol', 'the controller redirects a login to another origin');
  return url;
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

/** The controller's own word that it does not know the certificate. */
export function identityRefused(): MeshTrouble {
  return new MeshTrouble(
    'refused',
    'the controller does not know the identity: it was deleted, or its certificate revoked',
  );
}

function refusedAt(step: string, { status }: Answer): MeshTrouble {
  if (status === 401) return identityRefused();
  const kind = status === 408 || status === 429 || status >= 500 ? 'unreachable' : 'protocol';
  return new MeshTrouble(kind, `the controller answered the ${step} step of its login with ${status}`);
}
