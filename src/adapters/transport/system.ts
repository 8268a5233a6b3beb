import type { Settings } from '../../config/settings.ts';
import { pooledAgents } from './pool.ts';
import type { Transport } from './agents.ts';

/** Ordinary system networking: connections go where the URLs say. */
export function createSystem(settings: Settings): Transport {
  return { name: 'system', ...pooledAgents(settings, () => null) };
}
