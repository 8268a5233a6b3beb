import { isOneOff, type ListEntry } from '../../rules/health/container.ts';
import type { Creation, Made, MadeNetwork, MadeVolume } from '../../rules/created/created.ts';
import type { Calls } from './engineCalls.ts';
import { unlessGone } from './unlessGone.ts';

/** What compose made of a project, in full. */
export function createMaking(project: string, onInspect: () => void, { answer, sorted }: Calls) {
  const filters = JSON.stringify({ label: [`com.docker.compose.project=${project}`] });
  const inspect = async ({ Id }: ListEntry) => {
    onInspect();
    const found = await sorted(unlessGone(answer({ path: `/containers/${Id}/json` })));
    return found && (found.json as Creation);
  };
  const volumesNamed = async (names: string[]) => {
    if (names.length === 0) return [];
    const { json } = await sorted(answer({ path: '/volumes', query: { filters: JSON.stringify({ name: names }) } }));
    return volumesOf(json);
  };
  return {
    /** The containers of the project's services, its networks, and the volumes that these containers mount. */
    made: async (): Promise<Made> => {
      const { json, isPodman } = await sorted(answer({ path: '/containers/json', query: { all: 'true', filters } }));
      const found = await Promise.all((json as ListEntry[]).filter((entry) => !isOneOff(entry)).map(inspect));
      const containers = found.filter((each) => each !== null);
      const mounts = containers.flatMap(({ Mounts }) => Mounts ?? []);
      const names = [...new Set(mounts.flatMap(({ Type, Name }) => (Type === 'volume' && Name ? [Name] : [])))];
      const networks = await sorted(answer({ path: '/networks', query: { filters } }));
      return { containers, isPodman, volumes: await volumesNamed(names), networks: networksOf(networks.json) };
    },
  };
}

type Options = Record<string, string> | null;

function volumesOf(json: unknown): MadeVolume[] {
  const { Volumes } = json as { Volumes: { Name: string; Driver: string; Options: Options }[] | null };
  return (Volumes ?? []).map(({ Name, Driver, Options }) => ({ name: Name, driver: Driver, options: Options ?? {} }));
}

interface NetworkEntry {
  Id: string;
  Name: string;
  Driver: string;
  Internal: boolean;
  Options: Options;
}

function networksOf(json: unknown): MadeNetwork[] {
  return (json as NetworkEntry[]).map(({ Id, Name, Driver, Internal, Options }) => {
    return { id: Id, name: Name, driver: Driver, internal: Internal, options: Options ?? {} };
  });
}
