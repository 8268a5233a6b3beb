import { type Management, type ManagementOptions, openManagement } from '../../mesh/management.ts';
import { MeshError } from '../../mesh/meshError.ts';
import { PeerError } from './bundleStorage.ts';

/** A directory that is used until it is closed. */
export interface OpenMeshDirectory extends MeshDirectory {
  close: () => Promise<void>;
}

/** Milliseconds of each request to a controller. */
const TIMEOUT_MS = 10_000;

/** Opens the directory of a mesh; nothing is called before the first use. */
export function openMeshDirectory(options: Omit<ManagementOptions, 'timeoutMs'>): OpenMeshDirectory {
  const management = openManagement({ ...options, timeoutMs: TIMEOUT_MS });
  const ask = <T>(call: (management: Management) => Promise<T>): Promise<T> =>
    call(management).catch((error: unknown) => {
      throw error instanceof MeshError ? new PeerError('mesh controller', error.message) : error;
    });
  return {
    createIdentity: (name) => ask(({ replaceDevice }) => replaceDevice(identityName(name))),
    deleteIdentity: (name) => ask((mesh) => mesh.deleteIdentity(identityName(name))),
    check: () => ask(({ check }) => check()),
    close: management.close,
  };
}

/** The full name of a host's identity: apart from those that others make at the controller. */
function identityName(name: string): string {
  return `deployd-host.${name}`;
}

/** Identities of hosts at the controller of the mesh. Each call throws `PeerError` if the controller cannot be used. */
export interface MeshDirectory {
  /** Makes an identity anew, without role attributes; returns its one-time enrolment JWT. `name` begins with the backend's id. */
  createIdentity: (name: string) => Promise<string>;
  /** Deletes an identity; one that is unknown is taken for deleted. */
  deleteIdentity: (name: string) => Promise<void>;
  /** Throws unless the controller accepts the service. */
  check: () => Promise<void>;
}
