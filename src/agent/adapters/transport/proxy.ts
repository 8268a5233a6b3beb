import type { Settings } from '../../config/settings.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import { boundedAgents, type Transport } from './agents.ts';
import { pooledAgents } from './pool.ts';
import type { Trust, Trusts } from './trust.ts';

/** The local mesh tunnel proxy: only the dialled address differs, names and certificates stay those of the URLs. */
export function createProxy(settings: Settings, trusts: Trusts): Transport {
  const connectTimeoutMs = settings.connect_timeout_s * 1000;
  const open = (peer: Peer, trust: Trust) =>
    boundedAgents({ address: { host: '127.0.0.1', port: proxyPorts[peer] }, connectTimeoutMs }, trust);
  return { name: 'proxy', ...pooledAgents(trusts, open) };
}

/** Where `deployd-proxy.service` listens (spec §3). */
const proxyPorts: Record<Peer, number> = { tenancy: 18443, secretstore: 18200 };
