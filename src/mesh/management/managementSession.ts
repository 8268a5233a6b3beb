import type { ControllerAnswer, ControllerClient, ControllerRequest } from '../controller/controllerClient.ts';
import { asRecord, asText } from '../jsonValues.ts';
import { MeshError } from '../meshError.ts';

/** An administrator of a controller. */
export interface Administrator {
  /** `https` address of the controller; without a path its default one is used. */
  controllerUrl: string;
  username: string;
  password: string;
}

/** One call; `path` is relative to the management API. */
export interface ManagementCall extends Pick<ControllerRequest, 'method' | 'body'> {
  path: string;
  /** Refusals that the caller takes for an answer without data. */
  isNothing?: (answer: ControllerAnswer) => boolean;
}

/** Calls of a logged-in administrator. */
export interface ManagementSession {
  /** The `data` of the answer, undefined without one; logs in first where that is needed. Throws a MeshError. */
  call: (request: ManagementCall) => Promise<unknown>;
  /** Logs out, if that can be done. */
  end: () => Promise<void>;
}

/** Creates a session, which begins with its first call and is begun anew when the controller has ended it. */
export function createManagementSession(
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
