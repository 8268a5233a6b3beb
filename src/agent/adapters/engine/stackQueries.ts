import type { EngineApi } from './engineApi.ts';

/** What a swarm tells of the project's stack; the engine has to be a manager. */
export function createStackQueries(
  { project, onInspect }: { project: string; onInspect?: () => void },
  { getJson }: EngineApi,
) {
  return {
    /** Names of its services, on all nodes. */
    stackServices: async (): Promise<string[]> => {
      onInspect?.(); // their specifications have the environments
      const filters = JSON.stringify({ label: [`com.docker.stack.namespace=${project}`] });
      const { json } = await getJson({ path: '/services', query: { filters } });
      return (json as { Spec: { Name: string } }[]).map(({ Spec }) => Spec.Name.replace(`${project}_`, ''));
    },
  };
}
