import { type Management, type ManagementOptions, openManagement } from '../../mesh/management.ts';
import { MeshError } from '../../mesh/meshError.ts';
import { PeerError } from './bundleStorage.ts';

/** A directory that stays open until it is closed. */
export interface OpenMeshDirectory extends MeshDirectory {
  close: () => Promise<void>;
}

/** Milliseconds of each request to a controller. */
const TIMEOUT_MS = 10_000;

/** Opens the directory of a mesh; makes no call before the first use. */
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

/** The full name of a host's identity, which distinguishes it from other identities at the controller. */
function identityName(name: string): string {
  return `deployd-host.${name}`;
}

/** Identities of hosts at the mesh controller. Each call throws `PeerError` if the controller cannot be used. */
export interface MeshDirectory {
  /**
   * Creates or replaces an identity without role attributes; returns its one-time enrolment JWT. `name` starts with the
   * backend's id.
   */
  createIdentity: (name: string) => Promise<string>;
  /** Deletes an identity; an unknown one counts as deleted. */
  deleteIdentity: (name: string) => Promise<void>;
  /** Throws unless the controller accepts the service. */
  check: () => Promise<void>;
}
