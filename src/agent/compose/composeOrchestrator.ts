import { reportedContainerOf } from '../health/health.rules.ts';
import { composeUpNow } from '../health/observeHost.ts';
import type { Orchestrator } from '../release/orchestrator.ts';
import { type ComposeDependencies, type ComposeMemory, observe } from './observe.ts';

/**
 * Docker compose on one host; modules that change something are loaded on first use, since most ticks change nothing.
 */
export function createComposeOrchestrator(getParts: () => Omit<ComposeDependencies, 'memory'>): Orchestrator {
  const changes = () => import('./changes.ts');
  let memory: ComposeMemory = emptyMemory('');
  const getDeps = (): ComposeDependencies => {
    const parts = getParts();
    if (memory.tickId !== parts.tick.id) memory = emptyMemory(parts.tick.id);
    return { ...parts, memory };
  };
  return {
    isShared: false,
    membership: async () => ({ leader: null, swarm: null }),
    obtain: async () => undefined, // no other host applies
    observe: (applied) => observe(getDeps(), applied),
    adopt: async (sha, signal) => (await import('./adoptContainers.ts')).adoptContainers(getDeps(), sha, signal),
    pull: async (input, signal) => (await changes()).pull(getDeps(), input, signal),
    start: async (input, signal) => (await changes()).startContainers(getDeps(), input, signal),
    waitUntilHealthy: async ({ bundle: { sha }, started }, signal) =>
      (await changes()).waitUntilHealthy(getDeps(), { sha, ...started }, signal),
    restore: async (release, signal) => (await changes()).restore(getDeps(), release, signal),
    removeUnused: async () => (await changes()).removeUnusedNetworks(getDeps()), // compose removes orphan containers as it starts
    runningImages: async () => (await changes()).runningImages(getDeps()),
    finishedOneShots: async (record, services) => (await changes()).readFinishedOneShots(getDeps(), record, services),
    containers: async () => {
      const {
        memory: { healthyContainers },
      } = getDeps();
      return (healthyContainers ?? (await getDeps().containers.listStatuses())).map(reportedContainerOf);
    },
    volumes: async () => (await getDeps().containers.ownedResources()).volumes,
    down: async (options, signal) => (await changes()).down(getDeps(), options, signal),
    prune: async () => (await changes()).pruneImages(getDeps()),
  };
}

/** Nothing was changed in this tick yet. */
function emptyMemory(tickId: string): ComposeMemory {
  return { tickId, healthyContainers: null, pulledTags: new Map(), lastComposeUp: composeUpNow([]) };
}
