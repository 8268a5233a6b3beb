import { logExcerptsOf, type LogExcerpt } from '../../rules/health/containerLog.ts';
import type { EngineApi } from '../engine/engineApi.ts';
import { inBody, isOutOfSequence, unless } from '../engine/swarmRequest.ts';
import { lastPiecesOf } from '../engine/lastPieces.ts';
import type { SwarmMembership, SwarmNode } from '../../rules/swarm/leadership.ts';
import type { SwarmService, SwarmTask } from '../../rules/swarm/stackTask.ts';

const maxPieces = 20;
/** One more than is shown, to detect whether there are more. */
const logQuery = { stdout: 'true', stderr: 'true', tail: String(maxPieces + 1) };

export type Swarm = ReturnType<typeof createSwarm>;

/**
 * Calls to the swarm that this engine is a manager of, about the stack of that name; `onInspect` is called before a request
 * whose response contains environments of services, and so secrets. Throws RUNTIME_UNAVAILABLE when it does not respond.
 */
export function createSwarm({ getJson, openStream, withDocker }: EngineApi, project: string, onInspect: () => void) {
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

    /** Has new tasks made of what a service is; false when another writer was first, as the swarm itself in an update. */
    startAnew: ({ ID, Version, Spec }: SwarmService): Promise<boolean> => {
      const { ForceUpdate = 0 } = Spec.TaskTemplate;
      const forced = { ...Spec, TaskTemplate: { ...Spec.TaskTemplate, ForceUpdate: ForceUpdate + 1 } };
      return withDocker((docker, options) =>
        unless(
          isOutOfSequence,
          docker.getService(ID).update(inBody(options, forced, { version: Version.Index })) as Promise<unknown>,
        ),
      );
    },

    /** The last lines that a task wrote, on whatever node, unredacted. Throws ENGINE_ERROR for a task that is gone. */
    logs: async (taskId: string): Promise<LogExcerpt[]> => {
      const body = await openStream({ path: `/tasks/${taskId}/logs`, query: logQuery });
      return logExcerptsOf(await lastPiecesOf(body, maxPieces + 1), { maxPieces });
    },

    /** How many containers of the stack are on this node; they stay a while after their tasks. */
    containers: async (): Promise<number> =>
      ((await get('/containers/json', { all: 'true', filters })) as object[]).length,

    /** Names of the stack's volumes on this node; a manager knows those of no other. */
    volumes: async (): Promise<string[]> => {
      const { Volumes } = (await get('/volumes', { filters })) as { Volumes: { Name: string }[] | null };
      return (Volumes ?? []).map(({ Name }) => Name).sort();
    },

    /** The stack's tasks, ended ones too as long as the swarm remembers them. */
    tasks: async (): Promise<SwarmTask[]> => {
      onInspect();
      return (await get('/tasks', { filters })) as SwarmTask[];
    },
  };
}
