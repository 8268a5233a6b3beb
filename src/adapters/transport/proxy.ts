import type { Settings } from '../../config/settings.ts';
import type { Peer } from '../../rules/sorting.ts';
import { pooledAgents } from './pool.ts';
import type { Transport } from './agents.ts';

/** The local mesh tunnel proxy: only the dialled address differs, names and certificates stay those of the URLs. */
export function createProxy(settings: Settings): Transport {
  return { name: 'proxy', ...pooledAgents(settings, (peer) => ({ host: '127.0.0.1', port: proxyPorts[peer] })) };
}

/** Where `deployd-proxy.service` listens (spec §3). */
const proxyPorts: Record<Peer, number> = { tenancy: 18443, secretstore: 18200 };
