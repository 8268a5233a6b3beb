import { createTlsContext, type Authorities } from '../../platform/certificateAuthorities.ts';
import { createControllerClient, type ControllerAnswer } from '../controller/controllerClient.ts';
import { asList, asRecord, asText } from '../jsonValues.ts';
import { MeshError } from '../meshError.ts';
import { createManagementSession, type Administrator, type ManagementCall } from './managementSession.ts';

/** A controller, and how it is called. */
export interface ManagementOptions extends Administrator {
  /** Who vouches for the controller's certificate. */
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
