import { reportedContainerOf } from '../health/health.rules.ts';
import { composeUpNow } from '../health/observeHost.ts';
import type { Orchestrator } from '../release/orchestrator.ts';
import { type ComposeDependencies, type ComposeMemory, observe } from './observe.ts';

/**
 * Docker compose on one host; modules that change something are loaded on first use, since most ticks change nothing.
 */
export function createComposeOrchestrator(getParts: () => Omit<ComposeDependencies, 'memory'>): Orchestrator {
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
    adopt: async (sha, signal) => (await import('./recordContainers.ts')).adoptContainers(getDeps(), sha, signal),
    pull: async (input, signal) => (await import('./pull.ts')).pull(getDeps(), input, signal),
    start: async (input, signal) => (await import('./start.ts')).startContainers(getDeps(), input, signal),
    waitUntilHealthy: async ({ bundle: { sha }, started }, signal) =>
      (await import('./waitUntilHealthy.ts')).waitUntilHealthy(getDeps(), { sha, ...started }, signal),
    restore: async (release, signal) => (await import('./start.ts')).restore(getDeps(), release, signal),
    removeUnused: async () => (await import('./networks.ts')).removeUnusedNetworks(getDeps()), // compose removes orphan containers as it starts
    runningImages: async () => (await import('./recordContainers.ts')).runningImages(getDeps()),
    finishedOneShots: async (record, services) =>
      (await import('./oneShots.ts')).readFinishedOneShots(getDeps(), record, services),
    containers: async () => {
      const {
        memory: { healthyContainers },
      } = getDeps();
      return (healthyContainers ?? (await getDeps().containers.listStatuses())).map(reportedContainerOf);
    },
    volumes: async () => (await getDeps().containers.ownedResources()).volumes,
    down: async (options, signal) => (await import('./down.ts')).down(getDeps(), options, signal),
    prune: async () => (await import('../release/garbage.ts')).pruneImages(getDeps()),
  };
}

/** Nothing was changed in this tick yet. */
function emptyMemory(tickId: string): ComposeMemory {
  return { tickId, healthyContainers: null, pulledTags: new Map(), lastComposeUp: composeUpNow([]) };
}
