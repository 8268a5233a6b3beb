import type { Settings } from '../../config/settings.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import { boundedAgents } from './agents.ts';
import type { Transport } from './transport.ts';
import { createAgentPool } from './agentPool.ts';
import type { Trust, TrustStore } from './trustStore.ts';

/** The local mesh proxy: only the dialled address differs; names and certificates stay those of the URLs. */
export function createProxyTransport(settings: Settings, trustStore: TrustStore): Transport {
  const connectTimeoutMs = settings.connect_timeout_s * 1000;
  const open = (peer: Peer, trust: Trust) =>
    boundedAgents({ address: { host: '127.0.0.1', port: proxyPorts[peer] }, connectTimeoutMs }, trust);
  return { name: 'proxy', ...createAgentPool(trustStore, open) };
}

/** Ports on which `deployd-proxy.service` listens (spec §3). */
const proxyPorts: Record<Peer, number> = { tenancy: 18443, secretstore: 18200 };
