import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Agents } from '../../../core/nodeClient.ts';
import type { Transport } from './transport.ts';
import type { Trust, TrustStore } from './trustStore.ts';

/**
 * One pair of agents for each peer, opened at its first call. They are kept across `close` while the peer's trust is
 * unchanged, so that TLS sessions are resumed, which rely on the first handshake (except in the mesh).
 */
export function createAgentPool(
  trustStore: TrustStore,
  open: (peer: Peer, trust: Trust) => Agents,
): Pick<Transport, 'agents' | 'agentsWithAllRoots' | 'close'> {
  const pool = new Map<Peer, PooledAgents>();
  const replaced = new Set<Agents>();
  const agents = (peer: Peer): Agents => {
    const previous = pool.get(peer);
    if (previous?.isOpen) return previous.agents;
    const trust = trustStore.of(peer);
    if (previous && previous.trust !== trust) replaced.add(previous.agents);
    const pooled = previous?.trust === trust ? previous : { trust, agents: open(peer, trust), isOpen: true };
    pooled.isOpen = true;
    pool.set(peer, pooled);
    return pooled.agents;
  };
  return {
    agents,
    agentsWithAllRoots: (peer) => {
      const previous = pool.get(peer);
      if (previous?.trust.isPartial) {
        trustStore.useAllRoots();
        previous.isOpen = false;
      }
      return agents(peer);
    },
    close: () => {
      for (const pooled of pool.values()) {
        pooled.isOpen = false;
        replaced.add(pooled.agents);
      }
      for (const { http, https } of replaced) {
        http.destroy();
        https.destroy();
      }
      replaced.clear();
    },
  };
}

/** Agents, and the trust that they were opened with. */
interface PooledAgents {
  readonly trust: Trust;
  readonly agents: Agents;
  isOpen: boolean;
}
