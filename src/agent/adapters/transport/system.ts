import type { Settings } from '../../config/settings.ts';
import { boundedAgents, type Transport } from './agents.ts';
import { pooledAgents } from './pool.ts';
import type { Trusts } from './trust.ts';

/** Ordinary system networking: connections go where the URLs say. */
export function createSystem(settings: Settings, trusts: Trusts): Transport {
  const bounds = { address: null, connectTimeoutMs: settings.connect_timeout_s * 1000 };
  return { name: 'system', ...pooledAgents(trusts, (_peer, trust) => boundedAgents(bounds, trust)) };
}
