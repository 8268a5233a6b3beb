import type { Settings } from '../../config/settings.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Agents } from '../../../core/nodeClient.ts';

/**
 * How to reach the two services (spec §15). With every transport TLS is 1.2 or newer, the certificate is verified
 * against the peer's CA for the name in its URL, and no environment variable changes that.
 */
export interface Transport {
  readonly name: Settings['transport'];
  /**
   * The agents of a peer; the same until `agentsWithAllRoots` or a change of the CA, so that connections, TLS contexts
   * and sessions are shared.
   */
  agents: (peer: Peer) => Agents;
  /** Agents that trust all of the system's roots: new ones if those in use trust only the remembered roots. */
  agentsWithAllRoots: (peer: Peer) => Agents;
  /** Closes idle connections; the next call opens new ones and reads the CA files again. */
  close: () => void;
}
