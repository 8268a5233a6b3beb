import type { EngineApi } from '../engine/engineApi.ts';
import { ignoreNotFound } from '../engine/ignoreNotFound.ts';
import { inBody } from '../engine/swarmRequest.ts';
import type { SwarmTask } from '../../rules/swarm/stackTask.ts';
import { swarmNamesOf } from './swarmNames.ts';

export type NodeServices = ReturnType<typeof createNodeServices>;

/** The service by which an env has something done on nodes; it belongs to no stack, and is there no longer than that takes. */
export function createNodeServices({ getJson, withDocker }: EngineApi, env: string) {
  const labels = { 'deployd.env': env, 'deployd.job': 'node' };
  const filters = JSON.stringify({ label: Object.entries(labels).map((entry) => entry.join('=')) });
  const removeAll = async (): Promise<void> => {
    const { json } = await getJson({ path: '/services', query: { filters } });
    for (const { ID } of json as { ID: string }[])
      await withDocker((docker, options) => ignoreNotFound(docker.getService(ID).remove(options)));
  };
  return {
    labels,
    name: swarmNamesOf(env).job,

    /** Starts the service; one that an agent has left behind goes first. Resolves to its id. */
    start: async (service: object): Promise<string> => {
      await removeAll();
      return withDocker(async (docker, options) => (await docker.createService(inBody(options, service))).id);
    },

    /** Its tasks, without those of one before, which stay a while. */
    tasks: async (id: string): Promise<SwarmTask[]> => {
      const query = { filters: JSON.stringify({ service: [id] }) };
      return (await getJson({ path: '/tasks', query })).json as SwarmTask[];
    },

    removeAll,
  };
}
