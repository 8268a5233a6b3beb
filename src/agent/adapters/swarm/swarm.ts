import { createEngineApi } from '../engine/engineApi.ts';
import type { SwarmMembership, SwarmNode } from '../../rules/swarm/leadership.ts';
import type { SwarmService, SwarmTask } from '../../rules/swarm/stackTask.ts';

/** Which swarm and stack the client serves. */
export interface SwarmOptions {
  containerHost: string;
  /** Name of the stack. */
  project: string;
  /** On abort every call fails with the fault `stopped`. */
  signal: AbortSignal;
  /** Called before a request whose response contains environments of services, and so secrets. */
  onInspect: () => void;
}

export type Swarm = ReturnType<typeof createSwarm>;

/** Milliseconds: a manager that has lost its quorum answers after twenty seconds. */
const callTimeoutMs = 30_000;

/** Calls to the swarm that this engine is a manager of. Throws RUNTIME_UNAVAILABLE when it does not respond. */
export function createSwarm({ containerHost, project, signal, onInspect }: SwarmOptions) {
  const timeoutsMs = { call: callTimeoutMs, removal: callTimeoutMs };
  const { getJson } = createEngineApi({ containerHost, signal, timeoutsMs });
  const get = async (path: string, query: Record<string, string> = {}) => (await getJson({ path, query })).json;
  const filters = JSON.stringify({ label: [`com.docker.stack.namespace=${project}`] });
  return {
    /** What this engine says of its place in a swarm. */
    membership: async (): Promise<SwarmMembership> => ((await get('/info')) as { Swarm: SwarmMembership }).Swarm,

    /** Every node of the swarm. */
    nodes: async (): Promise<SwarmNode[]> => (await get('/nodes')) as SwarmNode[],

    /** The stack's services, with the number of tasks that each is to have. */
    services: async (): Promise<SwarmService[]> => {
      onInspect();
      return (await get('/services', { filters, status: 'true' })) as SwarmService[];
    },

    /** The stack's tasks, ended ones too as long as the swarm remembers them. */
    tasks: async (): Promise<SwarmTask[]> => {
      onInspect();
      return (await get('/tasks', { filters })) as SwarmTask[];
    },
  };
}
