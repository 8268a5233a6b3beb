import { openSwarm, type SwarmAdapters, type SwarmOptions } from '../../adapters/swarm/openSwarm.ts';
import type { Releases } from '../../adapters/release/releases.ts';
import type { StateStore } from '../../adapters/state/stateFile.ts';
import { SharedState } from '../../adapters/swarm/sharedState.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Orchestrator } from '../orchestrator.ts';
import { warnOnError } from '../release/collectGarbage.ts';
import { pruneImages } from '../release/pruneImages.ts';
import { removeUnmounted, restore, start } from './deployRelease.ts';
import { down } from './down.ts';
import { membership } from './membership.ts';
import { observe } from './observe.ts';
import { pruneOtherNodes } from './nodeWork.ts';
import { obtainRelease } from './obtainRelease.ts';
import { pinImages } from './pinImages.ts';
import type { SwarmDependencies } from './stackFacts.ts';
import { waitUntilHealthy } from './waitUntilHealthy.ts';

/** Drives the swarm of this host's engine; `state.json` becomes a copy of what its managers share. */
export function createSwarmOrchestration(
  getDeps: () => Dependencies,
  { file, releases, ...options }: SwarmOptions & { file: StateStore; releases: Pick<Releases, 'readRecord'> },
): Pick<Dependencies, 'orchestrator' | 'state'> {
  const adapters = openSwarm(options);
  const state = new SharedState({ file, facts: adapters.facts, readRecord: (sha) => releases.readRecord(sha) });
  return { state, orchestrator: createSwarmOrchestrator(getDeps, { ...adapters, state }) };
}

/** A stack of Docker Swarm on all nodes that the swarm has. */
export function createSwarmOrchestrator(
  getDeps: () => Dependencies,
  shared: SwarmAdapters & { state: SharedState },
): Orchestrator {
  const [digests, mounted] = [new Map<string, string>(), new Set<string>()];
  const context = (): SwarmDependencies => ({ ...shared, deps: getDeps(), digests, mounted });
  return {
    isShared: true,
    membership: () => membership(context()),
    observe: (applied) => observe(context(), applied),
    adopt: async () => [], // the swarm makes containers itself
    obtain: (sha, signal) => obtainRelease(context(), sha, signal),
    pull: (bundle, signal) => pinImages(context(), bundle, signal),
    start: ({ bundle }, signal) => start(context(), bundle, signal),
    waitUntilHealthy: (sha, signal) => waitUntilHealthy(context(), sha, signal),
    restore: ({ sha }, signal) => restore(context(), sha, signal),
    removeUnused: () => removeUnmounted(context()),
    runningImages: async () => [...digests].map(([reference, id]) => ({ reference, id })),
    finishedOneShots: async ({ jobs = [] }) => jobs,
    volumes: () => shared.swarm.volumes(),
    down: (options, signal) => down(context(), options, signal),
    prune: async () => {
      const deps = getDeps();
      await pruneImages(deps);
      await warnOnError(deps, 'images on other nodes stay for now', () => pruneOtherNodes(context(), deps.stop.signal));
    },
  };
}
