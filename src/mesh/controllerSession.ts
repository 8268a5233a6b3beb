import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import type { ControllerAnswer, ControllerClient, ControllerRequest } from './controllerClient.ts';
import { chooseService, controllerAddresses, type Intercept, type NetworkMemory, type Target } from './choice.rules.ts';
import { asList, asRecord, asText, parseJson } from '../core/json.rules.ts';
import { MeshError } from './meshError.ts';

/** The services and dial sessions of one login; valid for one tick. */
export interface ControllerSession {
  /** The service for the target; throws a MeshError if there is none. */
  findService: (target: Target) => Service;
  /**
   * The dial session of a service, with its routers; one per service, because a controller may lose one of two
   * concurrent ones.
   */
  dialSessionFor: (service: Service) => Promise<DialSession>;
  /** Discards a dial session that failed, so that the next dial creates a new one. */
  discardDialSession: (dialSession: Promise<DialSession>) => void;
  /** Asks for the controllers and authorities of the network; an answer that is missing is empty. */
  describeNetwork: () => Promise<Pick<NetworkMemory, 'controllers' | 'ca'>>;
}

/** An authenticated API session, and how to end it. */
export interface ApiSession {
  /** The token for routers; a secret. */
  readonly token: string;
  /** Request headers for the controller. */
  readonly headers: Record<string, string>;
  /** Milliseconds from its issue to the end of the token; null if it does not end while it is used. */
  readonly lifeMs: number | null;
  /** Replaces the token. */
  renew: () => Promise<void>;
  /** True when a second factor or an external login is still required. */
  isPartiallyAuthenticated: boolean;
  logout: () => Promise<unknown>;
}

/** A service that the identity may dial. */
interface Service extends Intercept {
  id: string;
  encrypted: boolean;
  /** Every policy that grants the service demands posture checks that this machine fails. */
  failsPostureChecks: boolean;
}

/** A permission to dial a service. The token is a secret; the routers are `tls` addresses. */
export interface DialSession {
  token: string;
  routers: { host: string; port: number }[];
}

const PAGE_SIZE = 500;
const MAX_SERVICES = 10_000;

/**
 * Logs in, by OIDC if the controller supports it. A provider whose responses do not fit is announced with another
 * listener, or for another address than the one that this host uses: then the certificate alone is tried, with a
 * warning.
 */
export async function logIn(client: ControllerClient, base: URL, warn: (line: string) => void): Promise<ApiSession> {
  const version = asRecord(await requestData(client, urlOf(base, 'version'), { method: 'GET' }));
  if (!asList(version['capabilities']).includes('OIDC_AUTH')) return logInByCertificate(client, base);
  return logInByOidc(client, base).catch(async (misfit: unknown) => {
    if (!isInvalid(misfit)) throw misfit;
    const session = await logInByCertificate(client, base).catch((error: unknown) => {
      throw isInvalid(error) ? misfit : error;
    });
    const cure = 'bind edge-oidc to the listener of edge-client, under the address that hosts use';
    warn(`mesh: ${misfit.message}; logged in by certificate instead: ${cure}`);
    return session;
  });
}

function isInvalid(error: unknown): error is MeshError {
  return error instanceof MeshError && error.kind === 'protocol';
}

/** Lists what the identity may dial. */
export async function openSession(
  client: ControllerClient,
  base: URL,
  apiSession: ApiSession,
): Promise<ControllerSession> {
  if (apiSession.isPartiallyAuthenticated) {
    throw new MeshError('unsupported', 'the identity is asked for a second factor or an external login');
  }
  const services = await listServices(client, base, apiSession.headers);
  const dials = new Map<string, Promise<DialSession>>();
  const discardDialSession = (dialSession: Promise<DialSession>) => {
    for (const [id, known] of dials) if (known === dialSession) dials.delete(id);
  };
  return {
    findService: (target) => {
      const choice = chooseService(services, target);
      if ('problem' in choice) throw new MeshError(choice.kind, choice.problem);
      return choice.service;
    },
    dialSessionFor: (service) => {
      const found = dials.get(service.id) ?? createDialSession(client, base, { headers: apiSession.headers, service });
      dials.set(service.id, found);
      found.catch(() => discardDialSession(found));
      return found;
    },
    discardDialSession,
    describeNetwork: async () => {
      const [controllers, ca] = await Promise.all([
        requestData(client, urlOf(base, 'controllers?limit=100'), { method: 'GET', headers: apiSession.headers })
          .then(controllerAddresses)
          .catch(() => []),
        client
          .request(urlOf(base, '.well-known/est/cacerts'), { method: 'GET' })
          .then(({ status, text }) => (status === 200 ? authoritiesIn(text) : []))
          .catch(() => []),
      ]);
      return { controllers, ca };
    },
  };
}

/** PEM of the authorities in a base64 PKCS #7 message that contains certificates only; throws for any other text. */
function authoritiesIn(text: string): string[] {
  const [message] = derValues(Buffer.from(text, 'base64'));
  const [, content] = derValues(message?.content);
  const [signedData] = derValues(content?.content);
  const certificates = derValues(signedData?.content).find(({ tag }) => tag === CERTIFICATES);
  return derValues(certificates?.content)
    .map(({ whole }) => new X509Certificate(whole))
    .filter(({ ca }) => ca)
    .map(String);
}

/** Tag of the certificates in signed data. */
const CERTIFICATES = 0xa0;

/** The values of a DER sequence. */
function derValues(bytes: Buffer = Buffer.alloc(0)): { tag: number; content: Buffer; whole: Buffer }[] {
  const values = [];
  for (let at = 0; at + 1 < bytes.length;) {
    const [tag = 0, short = 0] = bytes.subarray(at, at + 2);
    const extra = short < 128 ? 0 : short & 127;
    const length = extra === 0 ? short : parseInt(bytes.toString('hex', at + 2, at + 2 + extra), 16);
    const start = at + 2 + extra;
    const end = start + length;
    if (!(end <= bytes.length)) throw new MeshError('protocol', 'a list of certificates is cut off');
    values.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

async function logInByOidc(client: ControllerClient, { origin }: URL): Promise<ApiSession> {
  let tokens = await loginByOidc(client, origin);
  return {
    get token() {
      return tokens.access;
    },
    get headers() {
      return { authorization: `Bearer ${tokens.access}` };
    },
    get lifeMs() {
      return tokens.lifeMs;
    },
    isPartiallyAuthenticated: false,
    renew: async () => {
      tokens = await renewTokens(client, origin, tokens);
    },
    logout: () => logoutByOidc(client, origin, tokens),
  };
}

export async function logInByCertificate(client: ControllerClient, base: URL): Promise<ApiSession> {
  const url = urlOf(base, 'authenticate?method=cert');
  const controllerRequest = { method: 'POST', body: {}, outlivesEnd: true } as const;
  const { token: issued, authQueries } = asRecord(await requestData(client, url, controllerRequest));
  const token = asText(issued);
  if (token === '') throw new MeshError('protocol', 'the controller gave no token');
  const headers = { 'zt-session': token };
  return {
    token,
    headers,
    lifeMs: null,
    renew: () => Promise.resolve(),
    isPartiallyAuthenticated: asList(authQueries).length > 0,
    logout: () => client.request(urlOf(base, 'current-api-session'), { method: 'DELETE', headers, outlivesEnd: true }),
  };
}

async function listServices(client: ControllerClient, base: URL, headers: Record<string, string>): Promise<Service[]> {
  const services: Service[] = [];
  for (let offset = 0; offset < MAX_SERVICES; offset += PAGE_SIZE) {
    const url = urlOf(base, `services?limit=${PAGE_SIZE}&offset=${offset}&configTypes=intercept.v1`);
    const page = asList(await requestData(client, url, { method: 'GET', headers })).map(asRecord);
    services.push(...page.filter(mayDial).map(serviceOf));
    if (page.length < PAGE_SIZE) break;
  }
  return services;
}

function mayDial({ permissions }: Record<string, unknown>): boolean {
  return asList(permissions).includes('Dial');
}

function serviceOf({ id, name, encryptionRequired, config, postureQueries }: Record<string, unknown>): Service {
  const grants = asList(postureQueries)
    .map(asRecord)
    .filter(({ policyType }) => policyType === 'Dial');
  return {
    id: asText(id),
    name: asText(name),
    encrypted: encryptionRequired !== false,
    failsPostureChecks: grants.length > 0 && grants.every(({ isPassing }) => isPassing === false),
    intercept: asRecord(config)['intercept.v1'] ?? null,
  };
}

async function createDialSession(
  client: ControllerClient,
  base: URL,
  { headers, service }: { headers: Record<string, string>; service: Service },
): Promise<DialSession> {
  if (service.failsPostureChecks) throw postureCheckError(base);
  const body = { serviceId: service.id, type: 'Dial' };
  const data = asRecord(await requestData(client, urlOf(base, 'sessions'), { method: 'POST', headers, body }));
  const routers = asList(data['edgeRouters']).map(asRecord).filter(isUsable).flatMap(routerAddressOf);
  const token = asText(data['token']);
  if (token === '') throw new MeshError('protocol', 'the controller gave no session token');
  return { token, routers };
}

function isUsable(router: Record<string, unknown>): boolean {
  return router['isOnline'] !== false && router['disabled'] !== true;
}

function routerAddressOf(router: Record<string, unknown>): { host: string; port: number }[] {
  const { tls } = { ...asRecord(router['urls']), ...asRecord(router['supportedProtocols']) } as { tls?: unknown };
  const [, host, port] = /^tls:(?:\/\/)?\[?([^\]/]+?)\]?:(\d+)$/.exec(asText(tls)) ?? [];
  return host === undefined ? [] : [{ host, port: Number(port) }];
}

/** The `data` of a successful answer; throws the error of any other. */
export async function requestData(
  client: ControllerClient,
  url: URL,
  controllerRequest: ControllerRequest,
): Promise<unknown> {
  const answer = await client.request(url, controllerRequest);
  if (answer.status < 200 || answer.status > 299) {
    throw errorOfAnswer(answer, { url, isLoggedIn: controllerRequest.headers !== undefined });
  }
  const { data } = asRecord(answer.json);
  if (data === undefined) throw new MeshError('protocol', `controller ${url.host}: an answer without data`);
  return data;
}

function errorOfAnswer(
  { status, json }: ControllerAnswer,
  { url, isLoggedIn }: { url: URL; isLoggedIn: boolean },
): MeshError {
  const { code: errorCode } = asRecord(asRecord(json)['error']);
  const code = /^[A-Z0-9_]{1,64}$/.test(asText(errorCode)) ? asText(errorCode) : '';
  const where = `controller ${url.host}`;
  if (status === 401)
    return isLoggedIn ? new MeshError('stale', `${where}: the session is over`) : identityRefused(url.host);
  if (code === 'INVALID_POSTURE') return postureCheckError(url);
  if (status === 404 && isLoggedIn) return new MeshError('notGranted', `${where} does not know the service any more`);
  const isTransient = status === 408 || status === 429 || status >= 500;
  return new MeshError(isTransient ? 'unreachable' : 'protocol', `${where} answered ${status} ${code}`.trimEnd());
}

/** Newer controllers let the router reject such a dial, which gives no reason. */
function postureCheckError({ host }: URL): MeshError {
  return new MeshError('unsupported', `controller ${host} demands a posture check`);
}

export function urlOf(base: URL, path: string): URL {
  return new URL(`${base.pathname.replace(/\/$/, '')}/${path}`, base);
}

/**
 * The redirect URI registered at every controller for native clients; nothing listens there, and it is never requested.
 */
const REDIRECT_URI = 'http://localhost:20314/auth/callback';
const CLIENT_ID = 'openziti';

/** The tokens of an OIDC login; both are secrets. Controllers and routers accept the access token. */
interface Tokens {
  access: string;
  /** Revoking it invalidates both, unless they were renewed; null when the controller issues none. */
  refresh: string | null;
  lifeMs: number | null;
  isRenewed: boolean;
}

/** Logs in at the controller's OIDC provider with the identity's certificate. */
async function loginByOidc(client: ControllerClient, origin: string): Promise<Tokens> {
  const { host } = new URL(origin);
  const [state, verifier] = [randomSecret(), randomSecret()];
  const authorization = await client.request(authorizeUrl(origin, { state, verifier }), { method: 'GET' });
  const request = paramOf(authorization, 'authRequestID') ?? headerOf(authorization, 'auth-request-id');
  if (request === null) throw stepError('authorize', host, authorization);
  const login = new URL(`/oidc/login/cert?id=${encodeURIComponent(request)}`, origin);
  const loginAnswer = await client.request(login, { method: 'POST', body: { id: request } });
  if (loginAnswer.status === 200) throw new MeshError('unsupported', 'the identity is asked for a second factor');
  const callbackUrl = headerOf(loginAnswer, 'location');
  if (loginAnswer.status === 401 || loginAnswer.status === 403) throw identityRefused(host);
  if (callbackUrl === null) throw stepError('login', host, loginAnswer);
  const callback = await client.request(requireSameOrigin(callbackUrl, origin), { method: 'GET' });
  const code = paramOf(callback, 'code');
  if (code === null || paramOf(callback, 'state') !== state) throw stepError('callback', host, callback);
  const grant = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: REDIRECT_URI };
  return requestTokens(client, origin, grant);
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

/**
 * Ends a login by revoking its refresh token: controllers still accept an access token that is revoked alone. After a
 * renewal the two have different ids, and routers accept the access token until its id is revoked too.
 */
async function logoutByOidc(client: ControllerClient, origin: string, tokens: Tokens): Promise<void> {
  const { access, refresh, isRenewed } = tokens;
  const { jti } = asRecord(parseJson(Buffer.from(access.split('.')[1] ?? '', 'base64url').toString()));
  const revoked = [refresh, ...(isRenewed ? [asText(jti)] : [])].filter(Boolean) as string[];
  for (const token of revoked) {
    const body = new URLSearchParams({ client_id: CLIENT_ID, token, token_type_hint: 'refresh_token' });
    await client.request(new URL('/oidc/revoke', origin), { method: 'POST', body, outlivesEnd: true });
  }
}

async function renewTokens(client: ControllerClient, origin: string, { refresh }: Tokens): Promise<Tokens> {
  const grant = { grant_type: 'refresh_token', refresh_token: refresh ?? '' };
  return { ...(await requestTokens(client, origin, grant)), isRenewed: true };
}

async function requestTokens(client: ControllerClient, origin: string, grant: Record<string, string>): Promise<Tokens> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...grant });
  const url = new URL('/oidc/oauth/token', origin);
  const answer = await client.request(url, { method: 'POST', body, outlivesEnd: true });
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = asRecord(answer.json);
  if (answer.status !== 200 || typeof access !== 'string') throw stepError('token', new URL(origin).host, answer);
  const isRenewable = typeof refresh === 'string' && typeof seconds === 'number' && seconds > 0;
  return {
    access,
    refresh: typeof refresh === 'string' ? refresh : null,
    lifeMs: isRenewable ? Math.min(seconds * 1000, MAX_TIMER_MS) : null,
    isRenewed: false,
  };
}

/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

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
  if (url?.origin !== origin) {
    throw new MeshError('protocol', `controller ${new URL(origin).host} redirects its OIDC login to another origin`);
  }
  return url;
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The controller rejected the certificate. */
function identityRefused(host: string): MeshError {
  const causes = 'it was deleted, its certificate was revoked, or this controller has not joined its cluster';
  return new MeshError('refused', `controller ${host} does not know the identity: ${causes}`);
}

function stepError(step: string, host: string, { status }: ControllerAnswer): MeshError {
  if (status === 401) return identityRefused(host);
  const kind = status === 408 || status === 429 || status >= 500 ? 'unreachable' : 'protocol';
  return new MeshError(kind, `controller ${host} answered the ${step} step of its OIDC login with ${status}`);
}
