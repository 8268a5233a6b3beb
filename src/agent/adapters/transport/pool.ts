import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Agents, Transport } from './agents.ts';
import type { Trust, Trusts } from './trust.ts';

/**
 * One pair of agents for each peer, opened at its first call. They outlive `close` as long as the peer is trusted by the same, so
 * that they resume their TLS sessions (but for those of the mesh), which believe the first handshake.
 */
export function pooledAgents(
  trusts: Trusts,
  open: (peer: Peer, trust: Trust) => Agents,
): Pick<Transport, 'agents' | 'widest' | 'close'> {
  const pool = new Map<Peer, Pooled>();
  const replaced = new Set<Agents>();
  const agents = (peer: Peer): Agents => {
    const before = pool.get(peer);
    if (before?.isOpen) return before.agents;
    const trust = trusts.of(peer);
    if (before && before.trust !== trust) replaced.add(before.agents);
    const pooled = before?.trust === trust ? before : { trust, agents: open(peer, trust), isOpen: true };
    pooled.isOpen = true;
    pool.set(peer, pooled);
    return pooled.agents;
  };
  return {
    agents,
    widest: (peer) => {
      const before = pool.get(peer);
      if (before?.trust.isPart) {
        trusts.takeAllRoots();
        before.isOpen = false;
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

/** Agents, and whom they trust. */
interface Pooled {
  readonly trust: Trust;
  readonly agents: Agents;
  isOpen: boolean;
}
