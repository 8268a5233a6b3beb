import type { Orchestrator } from '../release/orchestrator.ts';
import { observe, type ComposeDependencies } from './observe.ts';

/** Docker compose on one host; what changes something is loaded on first use, since most ticks change nothing. */
export function createComposeOrchestrator(getDeps: () => ComposeDependencies): Orchestrator {
  const changes = () => import('./changes.ts');
  return {
    isShared: false,
    membership: async () => ({ leader: null, swarm: null }),
    obtain: async () => undefined, // only this host applies
    observe: (applied) => observe(getDeps(), applied),
    adopt: async (sha, signal) => (await import('./adoptContainers.ts')).adoptContainers(getDeps(), sha, signal),
    pull: async (bundle, signal) => (await changes()).pull(getDeps(), bundle, signal),
    start: async (applied, signal) => (await changes()).startContainers(getDeps(), applied, signal),
    waitUntilHealthy: async (sha, signal) => (await changes()).waitUntilHealthy(getDeps(), { sha }, signal),
    restore: async (release, signal) => (await changes()).restore(getDeps(), release, signal),
    removeUnused: async () => (await changes()).removeUnusedNetworks(getDeps()), // compose removes orphan containers as it starts
    runningImages: async () => (await changes()).runningImages(getDeps()),
    finishedOneShots: async (record) => (await changes()).readFinishedOneShots(getDeps(), record),
    volumes: async () => (await getDeps().containers.ownedResources()).volumes,
    down: async (options, signal) => (await changes()).down(getDeps(), options, signal),
    prune: async () => (await changes()).pruneImages(getDeps()),
  };
}
