/** A peer of the service that cannot be used; the message names peer, call and reason, and never a secret. */
export class PeerError extends Error {
  readonly peer: 'secretstore' | 'bundle storage' | 'mesh controller' | 'identity provider';
  /** Seconds after which the peer may be tried again. */
  readonly retryAfterS: number;

  constructor(peer: PeerError['peer'], message: string, retryAfterS = 5) {
    super(`${peer}: ${message}`);
    this.name = 'PeerError';
    this.peer = peer;
    this.retryAfterS = retryAfterS;
  }
}
