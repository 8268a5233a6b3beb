import type { SwarmAdapters } from '../../adapters/swarm/openSwarm.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Orchestrator } from '../orchestrator.ts';
import { pruneImages } from '../release/pruneImages.ts';
import { restore, start } from './deployRelease.ts';
import { down } from './down.ts';
import { observe } from './observe.ts';
import { pinImages } from './pinImages.ts';
import { otherNodes, type SwarmDependencies } from './stackFacts.ts';
import { waitUntilHealthy } from './waitUntilHealthy.ts';

/** A stack of Docker Swarm on all nodes that the swarm has. */
export function createSwarmOrchestrator(getDeps: () => Dependencies, adapters: SwarmAdapters): Orchestrator {
  const digests = new Map<string, string>();
  const context = (): SwarmDependencies => ({ ...adapters, deps: getDeps(), digests });
  return {
    observe: (applied) => observe(context(), applied),
    pull: (bundle, signal) => pinImages(context(), bundle, signal),
    start: ({ bundle }, signal) => start(context(), bundle, signal),
    waitUntilHealthy: (sha, signal) => waitUntilHealthy(context(), sha, signal),
    restore: ({ sha }, signal) => restore(context(), sha, signal),
    runningImages: async () => digests,
    finishedOneShots: async ({ jobs = [] }) => jobs,
    missingImages: async () => [], // nodes pull with the logins that the swarm keeps
    volumes: () => adapters.swarm.volumes(),
    down: (options, signal) => down(context(), options, signal),
    prune: async () => {
      const deps = getDeps();
      await pruneImages(deps);
      const others = await otherNodes(context());
      if (others.length > 0) deps.tick.journal.info(`images on other nodes of the swarm stay: ${others.join(', ')}`);
    },
  };
}
