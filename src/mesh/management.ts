import { type Authorities, createTlsContext } from '../core/certificateAuthorities.ts';
import {
  type ControllerAnswer,
  type ControllerClient,
  type ControllerRequest,
  createControllerClient,
} from './controllerClient.ts';
import { asList, asRecord, asText } from '../core/json.rules.ts';
import { MeshError } from './meshError.ts';

/** A controller, and how it is called. */
export interface ManagementOptions extends Administrator {
  /** The authorities that verify the controller's certificate. */
  authorities: Authorities;
  /** Milliseconds of each request. */
  timeoutMs: number;
}

/** The identities of a network. Each call throws a MeshError: `refused` means the administrator, not an identity. */
export interface Management {
  /**
   * Makes an identity of type Device without role attributes; returns its enrolment token, a JWT that serves once.
   * One of the same name is deleted before.
   */
  replaceDevice: (name: string) => Promise<string>;
  /** Deletes the identity of that name, if there is one. */
  deleteIdentity: (name: string) => Promise<void>;
  /** Throws unless the controller accepts the administrator. */
  check: () => Promise<void>;
  /** Ends the session if that can be done, and closes all connections. */
  close: () => Promise<void>;
}

/** How often another caller may be faster with the same name. */
const MAX_TRIES = 3;

/** Opens the management of a network; nothing is called before the first use. */
export function openManagement({ authorities, timeoutMs, ...administrator }: ManagementOptions): Management {
  const client = createControllerClient({ secureContext: createTlsContext(authorities) }, timeoutMs);
  const session = createManagementSession(client, administrator);
  const { call } = session;
  return {
    replaceDevice: async (name) => {
      for (let tries = 1; ; tries++) {
        await deleteIdentity(call, name);
        const id = await createDevice(call, name);
        const token = id === null ? null : await enrolmentToken(call, id);
        if (token !== null) return token;
        if (tries === MAX_TRIES) throw new MeshError('unreachable', 'others make an identity of the same name');
      }
    },
    deleteIdentity: (name) => deleteIdentity(call, name),
    check: async () => {
      await call({ method: 'GET', path: 'current-api-session' });
    },
    close: async () => {
      await session.end();
      client.close();
    },
  };
}

type Call = (request: ManagementCall) => Promise<unknown>;

async function deleteIdentity(call: Call, name: string): Promise<void> {
  const found = asList(
    await call({ method: 'GET', path: `identities?filter=${encodeURIComponent(nameFilter(name))}` }),
  );
  for (const id of found.map(idOf)) await call({ method: 'DELETE', path: `identities/${id}`, isNothing: isUnknown });
}

/** Returns its id; null if the name is taken. */
async function createDevice(call: Call, name: string): Promise<string | null> {
  const body = { name, type: 'Device', isAdmin: false, enrollment: { ott: true } };
  const created = await call({ method: 'POST', path: 'identities', body, isNothing: isTakenName });
  return created === undefined ? null : idOf(created);
}

/** Null if the identity has been deleted meanwhile. */
async function enrolmentToken(call: Call, id: string): Promise<string | null> {
  const detail = await call({ method: 'GET', path: `identities/${id}`, isNothing: isUnknown });
  if (detail === undefined) return null;
  const token = asText(asRecord(asRecord(asRecord(detail)['enrollment'])['ott'])['jwt']);
  if (token === '') throw new MeshError('protocol', 'the controller gave no enrolment token');
  return token;
}

function isUnknown({ status }: ControllerAnswer): boolean {
  return status === 404;
}

function isTakenName({ status, json }: ControllerAnswer): boolean {
  return status === 400 && asRecord(asRecord(asRecord(json)['error'])['cause'])['field'] === 'name';
}

/** In the controller's filter language, where a quote would end the name. */
function nameFilter(name: string): string {
  if (!/^[\w.-]{1,128}$/.test(name))
    throw new RangeError('a name has letters, digits, dots, dashes and underscores only');
  return `name="${name}"`;
}

function idOf(entity: unknown): string {
  const id = asText(asRecord(entity)['id']);
  if (!/^[\w.-]+$/.test(id)) throw new MeshError('protocol', 'the controller gave no id');
  return id;
}

/** An administrator of a controller. */
interface Administrator {
  /** `https` address of the controller; without a path its default one is used. */
  controllerUrl: string;
  username: string;
  password: string;
}

/** One call; `path` is relative to the management API. */
interface ManagementCall extends Pick<ControllerRequest, 'method' | 'body'> {
  path: string;
  /** Refusals that the caller takes for an answer without data. */
  isNothing?: (answer: ControllerAnswer) => boolean;
}

/** Calls of a logged-in administrator. */
interface ManagementSession {
  /** The `data` of the answer, undefined without one; logs in first where that is needed. Throws a MeshError. */
  call: (request: ManagementCall) => Promise<unknown>;
  /** Logs out, if that can be done. */
  end: () => Promise<void>;
}

/** Creates a session, which begins with its first call and begins again when the controller has ended it. */
function createManagementSession(
  client: ControllerClient,
  { controllerUrl, username, password }: Administrator,
): ManagementSession {
  const base = baseOf(controllerUrl);
  let token: Promise<string> | null = null;
  const send = async ({ path, method, body }: ManagementCall, session?: string) => {
    const headers = session === undefined ? {} : { 'zt-session': session };
    return client.request(new URL(path, base), { method, headers, ...(body && { body }) });
  };
  const logIn = async () => {
    const body = { username, password };
    const answer = await send({ method: 'POST', path: 'authenticate?method=password', body });
    const issued = asText(asRecord(dataOf(answer, base))['token']);
    if (issued === '') throw new MeshError('protocol', `controller ${base.host} gave no token`);
    return issued;
  };
  const current = () => {
    const held = (token ??= logIn());
    held.catch(() => forget(held));
    return held;
  };
  const forget = (old: Promise<string>) => {
    if (token === old) token = null;
  };
  return {
    call: async (request) => {
      const held = current();
      const first = await send(request, await held);
      if (first.status !== 401) return dataOf(first, base, request.isNothing);
      forget(held);
      return dataOf(await send(request, await current()), base, request.isNothing);
    },
    end: async () => {
      if (token === null) return;
      const loggedOut = token.then((held) => send({ method: 'DELETE', path: 'current-api-session' }, held));
      await loggedOut.catch(() => undefined);
    },
  };
}

/** The URL of the management API, with a trailing slash. */
function baseOf(controllerUrl: string): URL {
  const url = new URL(controllerUrl);
  if (url.pathname === '/') url.pathname = '/edge/management/v1';
  url.pathname = url.pathname.replace(/\/?$/, '/');
  return url;
}

function dataOf(answer: ControllerAnswer, { host }: URL, isNothing?: ManagementCall['isNothing']): unknown {
  const { status, json } = answer;
  if (status >= 200 && status <= 299) return asRecord(json)['data'];
  if (isNothing?.(answer) === true) return undefined;
  const code = /^[A-Z0-9_]{1,64}$/.exec(asText(asRecord(asRecord(json)['error'])['code']))?.[0] ?? '';
  const said = `controller ${host} answered ${status} ${code}`.trimEnd();
  if (status === 401) throw new MeshError('refused', `${said}: it does not accept the administrator`);
  throw new MeshError(status === 429 || status >= 500 ? 'unreachable' : 'protocol', said);
}
