/** Identities of hosts at the controller of the mesh. Each call throws `PeerError` if the controller cannot be used. */
export interface MeshDirectory {
  /** Makes an identity anew, without role attributes; returns its one-time enrolment JWT. `name` begins with the backend's id. */
  createIdentity: (name: string) => Promise<string>;
  /** Deletes an identity; one that is unknown is taken for deleted. */
  deleteIdentity: (name: string) => Promise<void>;
  /** Throws unless the controller accepts the service. */
  check: () => Promise<void>;
}
