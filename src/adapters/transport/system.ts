import type { Settings } from '../../config/settings.ts';
import { boundedAgents, type Transport } from './agents.ts';
import { pooledAgents } from './pool.ts';

/** Ordinary system networking: connections go where the URLs say. */
export function createSystem(settings: Settings): Transport {
  const bounds = { address: null, connectTimeoutMs: settings.connect_timeout_s * 1000 };
  return { name: 'system', ...pooledAgents(settings, (_peer, context) => boundedAgents(bounds, context)) };
}
