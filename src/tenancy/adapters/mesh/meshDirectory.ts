/** Identities of hosts at the controller of the mesh. Each call throws `PeerError` if the controller cannot be used. */
export interface MeshDirectory {
  /** Makes the identity of a backend anew, without role attributes; returns its one-time enrolment JWT. */
  createIdentity: (backendId: string) => Promise<string>;
  /** Deletes the identity of a backend; one that is unknown is taken for deleted. */
  deleteIdentity: (backendId: string) => Promise<void>;
  /** Throws unless the controller accepts the service. */
  check: () => Promise<void>;
}
