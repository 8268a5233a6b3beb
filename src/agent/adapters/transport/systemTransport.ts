import type { Settings } from '../../config/settings.ts';
import { boundedAgents } from './agents.ts';
import type { Transport } from './transport.ts';
import { createAgentPool } from './agentPool.ts';
import type { TrustStore } from './trustStore.ts';

/** Ordinary networking: connections go to the hosts of the URLs. */
export function createSystemTransport(settings: Settings, trustStore: TrustStore): Transport {
  const options = { address: null, connectTimeoutMs: settings.connect_timeout_s * 1000 };
  return { name: 'system', ...createAgentPool(trustStore, (_peer, trust) => boundedAgents(options, trust)) };
}
