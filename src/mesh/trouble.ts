/**
 * What can go wrong with the mesh, by what is to be done about it:
 * - `identity`: the file cannot be used; the message goes on after `identity <path> `
 * - `untrusted`: a controller or router whose certificate is not good
 * - `refused`: the controller does not know the identity (any more)
 * - `unsupported`: it asks for what an unattended client has not: a second factor, an external login, posture
 * - `notGranted`: the identity may not dial the service, or there is none
 * - `noTerminator`: nobody hosts the service at the moment
 * - `stale`: a session that is over; a new one is tried once, then it is told as `unreachable`
 * - `cut`: a router that went away instead of an answer, as it died or knows no such session; likewise, after the other routers
 * - `unreachable`: network, time limits, overload
 * - `protocol`: an answer that makes no sense
 */
export type TroubleKind =
  | 'identity'
  | 'untrusted'
  | 'refused'
  | 'unsupported'
  | 'notGranted'
  | 'noTerminator'
  | 'stale'
  | 'cut'
  | 'unreachable'
  | 'protocol';

/** The only error that this module throws; its message holds no token, key or body. */
export class MeshTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string) {
    super(message);
    this.name = 'MeshTrouble';
    this.kind = kind;
  }
}

/** Sorts an error of node:net, node:tls or node:https by its code. */
export function sortSocketError(error: unknown, where: string): MeshTrouble {
  if (error instanceof MeshTrouble) return error;
  const { code } = error as { code?: unknown };
  const name = typeof code === 'string' ? code : 'UNKNOWN';
  if (mistrust.test(name)) return new MeshTrouble('untrusted', `${where}: its certificate is not trusted (${name})`);
  return new MeshTrouble(nonsense.test(name) ? 'protocol' : 'unreachable', `${where}: ${name}`);
}

/** Results of a verification, and keys or digests that are too weak to be verified. */
const mistrust =
  /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_(CA|PURPOSE)|PATH_LENGTH|ERROR_IN_CERT|HOSTNAME_MISMATCH|ERR_SSL_(\w+_KEY_TOO_SMALL|CA_MD_TOO_WEAK))/;
/** No HTTP, or a token or port that none can be. */
const nonsense = /^(HPE_(?!INVALID_EOF_STATE)|ERR_INVALID_|ERR_SOCKET_BAD_PORT)/;
