import { certificateCure } from '../core/untrusted.rules.ts';
import { untrustedOf } from '../core/certificateAuthorities.ts';

/**
 * Kinds of mesh errors, by their remedy:
 * - `identity`: the identity file cannot be used; the message continues after `identity <path> `
 * - `untrusted`: the certificate of a controller or router is not trusted
 * - `refused`: the controller does not know the identity (any more)
 * - `unsupported`: the network demands something that an unattended client lacks: a second factor, an external login, a
 *   posture check
 * - `notGranted`: the identity may not dial the service, or it does not exist
 * - `noTerminator`: the service has no host at the moment
 * - `stale`: the session has ended; a new one is tried once, then the error becomes `unreachable`
 * - `channelClosed`: a router closed the channel instead of responding: it died, or does not know the session; handled like
 *   `stale`, after the other routers
 * - `unreachable`: network errors, timeouts, overload
 * - `protocol`: an invalid response
 */
export type MeshErrorKind =
  | 'identity'
  | 'untrusted'
  | 'refused'
  | 'unsupported'
  | 'notGranted'
  | 'noTerminator'
  | 'stale'
  | 'channelClosed'
  | 'unreachable'
  | 'protocol';

/** The only error that the mesh client throws; its message contains no token, key or body. */
export class MeshError extends Error {
  readonly kind: MeshErrorKind;

  constructor(kind: MeshErrorKind, message: string) {
    super(message);
    this.name = 'MeshError';
    this.kind = kind;
  }
}

/** Where the authorities of a mesh are, for a host and for the service. */
const meshAuthorities = 'id.ca of the identity, or mesh.controller_ca';

/** Classifies an error of node:net, node:tls or node:https by its code. */
export function classifySocketError(error: unknown, where: string): MeshError {
  if (error instanceof MeshError) return error;
  const { code } = error as { code?: unknown };
  const name = typeof code === 'string' ? code : 'UNKNOWN';
  if (untrustedCodes.test(name)) {
    const untrusted = untrustedOf(error);
    const problem = untrusted?.problem ?? `its certificate is not trusted (${name})`;
    return new MeshError(
      'untrusted',
      `${where}: ${problem}${untrusted ? `: ${certificateCure(untrusted, meshAuthorities)}` : ''}`,
    );
  }
  return new MeshError(protocolErrorCodes.test(name) ? 'protocol' : 'unreachable', `${where}: ${name}`);
}

/** Verification results, and keys or digests that are too weak for verification. */
const untrustedCodes =
  /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_(CA|PURPOSE)|PATH_LENGTH|ERROR_IN_CERT|HOSTNAME_MISMATCH|ERR_SSL_(\w+_KEY_TOO_SMALL|CA_MD_TOO_WEAK))/;
/** The response is not HTTP, or a token or port is invalid. */
const protocolErrorCodes = /^(HPE_(?!INVALID_EOF_STATE)|ERR_INVALID_|ERR_SOCKET_BAD_PORT)/;
