import { createHash, randomBytes } from 'node:crypto';
import { asRecord } from '../jsonValues.ts';
import type { ControllerAnswer, ControllerClient } from './controllerClient.ts';
import { MeshError } from '../meshError.ts';

/**
 * The redirect URI registered at every controller for native clients; nothing listens there, and it is never requested.
 */
const REDIRECT_URI = 'http://localhost:20314/auth/callback';
const CLIENT_ID = 'openziti';

/** The tokens of an OIDC login; both are secrets. Controllers and routers accept the access token. */
interface Tokens {
  access: string;
  /** Revoking it invalidates both; null when the controller issues none. */
  refresh: string | null;
}

/** Logs in at the controller's OIDC provider with the identity's certificate. */
export async function loginByOidc(client: ControllerClient, origin: string): Promise<Tokens> {
  const [state, verifier] = [randomSecret(), randomSecret()];
  const authorization = await client.request(authorizeUrl(origin, { state, verifier }), { method: 'GET' });
  const request = paramOf(authorization, 'authRequestID') ?? headerOf(authorization, 'auth-request-id');
  if (request === null) throw stepError('authorize', authorization);
  const login = new URL(`/oidc/login/cert?id=${encodeURIComponent(request)}`, origin);
  const loginAnswer = await client.request(login, { method: 'POST', body: { id: request } });
  if (loginAnswer.status === 200) throw new MeshError('unsupported', 'the identity is asked for a second factor');
  const callbackUrl = headerOf(loginAnswer, 'location');
  if (loginAnswer.status === 401 || loginAnswer.status === 403) throw identityRefused();
  if (callbackUrl === null) throw stepError('login', loginAnswer);
  const callback = await client.request(requireSameOrigin(callbackUrl, origin), { method: 'GET' });
  const code = paramOf(callback, 'code');
  if (code === null || paramOf(callback, 'state') !== state) throw stepError('callback', callback);
  return exchangeCode(client, origin, { code, verifier });
}

function authorizeUrl(origin: string, { state, verifier }: { state: string; verifier: string }): URL {
  const url = new URL('/oidc/authorize', origin);
  url.search = new URLSearchParams({
    client_id: CLIENT_ID,
    response_type: 'code',
    scope: 'openid offline_access',
    redirect_uri: REDIRECT_URI,
    state,
    nonce: randomSecret(),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  return url;
}

/** Ends a login by revoking its refresh token: controllers still accept an access token that is revoked alone. */
export async function logoutByOidc(client: ControllerClient, origin: string, refresh: string): Promise<void> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, token: refresh, token_type_hint: 'refresh_token' });
  await client.request(new URL('/oidc/revoke', origin), { method: 'POST', body, outlivesEnd: true });
}

async function exchangeCode(
  client: ControllerClient,
  origin: string,
  grant: { code: string; verifier: string },
): Promise<Tokens> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    code: grant.code,
    code_verifier: grant.verifier,
    redirect_uri: REDIRECT_URI,
  });
  const answer = await client.request(new URL('/oidc/oauth/token', origin), {
    method: 'POST',
    body,
    outlivesEnd: true,
  });
  const { access_token: access, refresh_token: refresh } = asRecord(answer.json);
  if (answer.status !== 200 || typeof access !== 'string') throw stepError('token', answer);
  return { access, refresh: typeof refresh === 'string' ? refresh : null };
}

/** A query parameter of the redirect location. */
function paramOf(answer: ControllerAnswer, name: string): string | null {
  const location = headerOf(answer, 'location');
  if (location === null || !URL.canParse(location, REDIRECT_URI)) return null;
  return new URL(location, REDIRECT_URI).searchParams.get(name);
}

function headerOf({ headers }: ControllerAnswer, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function requireSameOrigin(location: string, origin: string): URL {
  const url = URL.parse(location, origin);
  if (url?.origin !== origin) throw new MeshError('protocol', 'the controller redirects a login to another origin');
  return url;
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The controller rejected the certificate. */
export function identityRefused(): MeshError {
  return new MeshError(
    'refused',
    'the controller does not know the identity: it was deleted, or its certificate revoked',
  );
}

function stepError(step: string, { status }: ControllerAnswer): MeshError {
  if (status === 401) return identityRefused();
  const kind = status === 408 || status === 429 || status >= 500 ? 'unreachable' : 'protocol';
  return new MeshError(kind, `the controller answered the ${step} step of its login with ${status}`);
}
