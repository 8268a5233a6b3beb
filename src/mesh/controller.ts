import { serviceFor, type Intercept, type Target } from './intercept.ts';
import { listed, record, textOf } from './json.ts';
import { identityRefused, loginByOidc, logoutByOidc } from './oidc.ts';
import type { Answer, Ask, Rest } from './rest.ts';
import { MeshTrouble } from './trouble.ts';

/** What a controller told after a login; good for one tick. */
export interface ControllerSession {
  /** The service that the target means: by intercept address first, by name second. */
  find: (target: Target) => Service;
  /** A permission to dial, and the routers that take it; one for each service, as of two at once a controller may lose one. */
  dialable: (service: Service) => Promise<DialSession>;
  /** A permission that did not do: the next one is a new one. */
  renounce: (permit: Promise<DialSession>) => void;
}

/** What a login gives, and how it is given back. */
export interface Grant {
  /** What routers want to see; a secret. */
  token: string;
  /** What the controller wants to see. */
  headers: Record<string, string>;
  /** True when it is good for nothing before a second factor or an external login. */
  demandsMore: boolean;
  logout: () => Promise<unknown>;
}

/** A service that the identity may dial. */
export interface Service extends Intercept {
  id: string;
  encrypted: boolean;
  /** Every policy that grants it demands posture checks that this machine does not pass. */
  guarded: boolean;
}

/** The token is a secret; the routers are `tls` addresses. */
export interface DialSession {
  token: string;
  routers: { host: string; port: number }[];
}

const PAGE = 500;
const MAX_SERVICES = 10_000;
/** All are asked at once. */
const MAX_ROUTERS = 32;

/** Logs in, by OIDC where it is offered. */
export async function logIn(rest: Rest, base: URL): Promise<Grant> {
  const version = record(await expectData(rest, at(base, 'version'), { method: 'GET' }));
  const hasOidc = listed(version['capabilities']).includes('OIDC_AUTH');
  return hasOidc ? byOidc(rest, base) : byCertificate(rest, base);
}

/** Asks what the identity may dial. */
export async function openSession(rest: Rest, base: URL, grant: Grant): Promise<ControllerSession> {
  if (grant.demandsMore) {
    throw new MeshTrouble('unsupported', 'the identity is asked for a second factor or an external login');
  }
  const { headers } = grant;
  const services = await listServices(rest, base, headers);
  const dials = new Map<string, Promise<DialSession>>();
  const renounce = (permit: Promise<DialSession>) => {
    for (const [id, known] of dials) if (known === permit) dials.delete(id);
  };
  return {
    find: (target) => serviceFor(services, target),
    dialable: (service) => {
      const found = dials.get(service.id) ?? dialSession(rest, base, { headers, service });
      dials.set(service.id, found);
      found.catch(() => renounce(found));
      return found;
    },
    renounce,
  };
}

async function byOidc(rest: Rest, { origin }: URL): Promise<Grant> {
  const { access, refresh } = await loginByOidc(rest, origin);
  return {
    token: access,
    headers: { authorization: `Bearer ${access}` },
    demandsMore: false,
    logout: async () => refresh !== null && logoutByOidc(rest, origin, refresh),
  };
}

async function byCertificate(rest: Rest, base: URL): Promise<Grant> {
  const url = at(base, 'authenticate?method=cert');
  const ask = { method: 'POST', body: {}, outlives: true } as const;
  const { token: told, authQueries } = record(await expectData(rest, url, ask));
  const token = textOf(told);
  if (token === '') throw new MeshTrouble('protocol', 'the controller gave no token');
  const headers = { 'zt-session': token };
  return {
    token,
    headers,
    demandsMore: listed(authQueries).length > 0,
    logout: () => rest.ask(at(base, 'current-api-session'), { method: 'DELETE', headers, outlives: true }),
  };
}

async function listServices(rest: Rest, base: URL, headers: Record<string, string>): Promise<Service[]> {
  const services: Service[] = [];
  for (let offset = 0; offset < MAX_SERVICES; offset += PAGE) {
    const url = at(base, `services?limit=${PAGE}&offset=${offset}&configTypes=intercept.v1`);
    const page = listed(await expectData(rest, url, { method: 'GET', headers })).map(record);
    services.push(...page.filter(mayDial).map(serviceOf));
    if (page.length < PAGE) break;
  }
  return services;
}

function mayDial({ permissions }: Record<string, unknown>): boolean {
  return listed(permissions).includes('Dial');
}

function serviceOf({ id, name, encryptionRequired, config, postureQueries }: Record<string, unknown>): Service {
  const grants = listed(postureQueries)
    .map(record)
    .filter(({ policyType }) => policyType === 'Dial');
  return {
    id: textOf(id),
    name: textOf(name),
    encrypted: encryptionRequired !== false,
    guarded: grants.length > 0 && grants.every(({ isPassing }) => isPassing === false),
    intercept: record(config)['intercept.v1'] ?? null,
  };
}

async function dialSession(
  rest: Rest,
  base: URL,
  { headers, service }: { headers: Record<string, string>; service: Service },
): Promise<DialSession> {
  if (service.guarded) throw postureDemanded(base);
  const body = { serviceId: service.id, type: 'Dial' };
  const data = record(await expectData(rest, at(base, 'sessions'), { method: 'POST', headers, body }));
  const routers = listed(data['edgeRouters']).map(record).filter(isUsable).flatMap(addressOf).slice(0, MAX_ROUTERS);
  const token = textOf(data['token']);
  if (token === '') throw new MeshTrouble('protocol', 'the controller gave no session token');
  return { token, routers };
}

function isUsable(router: Record<string, unknown>): boolean {
  return router['isOnline'] !== false && router['disabled'] !== true;
}

function addressOf(router: Record<string, unknown>): { host: string; port: number }[] {
  const { tls } = { ...record(router['urls']), ...record(router['supportedProtocols']) } as { tls?: unknown };
  const [, host, port] = /^tls:(?:\/\/)?\[?([^\]/]+?)\]?:(\d+)$/.exec(textOf(tls)) ?? [];
  return host === undefined ? [] : [{ host, port: Number(port) }];
}

/** The `data` of a good answer; everything else is sorted. */
async function expectData(rest: Rest, url: URL, ask: Ask): Promise<unknown> {
  const answer = await rest.ask(url, ask);
  if (answer.status < 200 || answer.status > 299) {
    throw sortAnswer(answer, { url, isLoggedIn: ask.headers !== undefined });
  }
  const { data } = record(answer.json);
  if (data === undefined) throw new MeshTrouble('protocol', `controller ${url.host}: an answer without data`);
  return data;
}

function sortAnswer({ status, json }: Answer, { url, isLoggedIn }: { url: URL; isLoggedIn: boolean }): MeshTrouble {
  const { code: said } = record(record(json)['error']);
  const code = /^[A-Z0-9_]{1,64}$/.test(textOf(said)) ? textOf(said) : '';
  const where = `controller ${url.host}`;
  if (status === 401) return isLoggedIn ? new MeshTrouble('stale', `${where}: the session is over`) : identityRefused();
  if (code === 'INVALID_POSTURE') return postureDemanded(url);
  if (status === 404 && isLoggedIn) return new MeshTrouble('notGranted', `${where} does not know the service any more`);
  const isPassing = status === 408 || status === 429 || status >= 500;
  return new MeshTrouble(isPassing ? 'unreachable' : 'protocol', `${where} answered ${status} ${code}`.trimEnd());
}

/** Newer controllers leave it to the router to refuse such a dial, which does so without a reason. */
function postureDemanded({ host }: URL): MeshTrouble {
  return new MeshTrouble('unsupported', `controller ${host} demands a posture check`);
}

function at(base: URL, path: string): URL {
  return new URL(`${base.pathname.replace(/\/$/, '')}/${path}`, base);
}
