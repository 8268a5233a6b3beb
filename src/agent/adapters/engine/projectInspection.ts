import { isOneOff, type ContainerListEntry } from '../../rules/health/engineContainer.ts';
import type {
  CreatedContainer,
  CreatedResources,
  CreatedNetwork,
  CreatedVolume,
} from '../../rules/createdContainers/createdContainer.ts';
import { givenVolumeOptions } from '../../rules/createdContainers/volumeOptions.ts';
import type { EngineApi } from './engineApi.ts';
import { projectFilter } from './projectFilter.ts';
import { timesOf, type VolumeEntry } from './volumeTimes.ts';

/** Inspects everything that compose created for a project. */
export function createProjectInspection(project: string, { getJson, inspectContainer }: EngineApi) {
  const filters = JSON.stringify(projectFilter(project));
  const inspect = async ({ Id }: ContainerListEntry) => (await inspectContainer(Id)) as CreatedContainer | null;
  const volumesNamed = async (names: string[]) => {
    if (names.length === 0) return [];
    const { json } = await getJson({ path: '/volumes', query: { filters: JSON.stringify({ name: names }) } });
    return volumesOf(json, project);
  };
  return {
    /** The containers of the project's services, its networks, and the volumes that these containers mount. */
    inspectProject: async (): Promise<CreatedResources> => {
      const { json, isPodman } = await getJson({ path: '/containers/json', query: { all: 'true', filters } });
      const inspected = await Promise.all(
        (json as ContainerListEntry[]).filter((entry) => !isOneOff(entry)).map(inspect),
      );
      const containers = inspected.filter((each) => each !== null);
      const mounts = containers.flatMap(({ Mounts }) => Mounts ?? []);
      const names = [...new Set(mounts.flatMap(({ Type, Name }) => (Type === 'volume' && Name ? [Name] : [])))];
      const networks = await getJson({ path: '/networks', query: { filters } });
      return { containers, isPodman, volumes: await volumesNamed(names), networks: networksOf(networks.json) };
    },
  };
}

type Options = Record<string, string> | null;

interface CreatedVolumeEntry extends VolumeEntry {
  Options: Options;
  Labels: Record<string, string> | null;
}

async function volumesOf(json: unknown, project: string): Promise<CreatedVolume[]> {
  const { Volumes } = json as { Volumes: CreatedVolumeEntry[] | null };
  const found = (Volumes ?? []).map(async (entry) => {
    const { created_at, born_at } = await timesOf(entry);
    const isOwn = entry.Labels?.['com.docker.compose.project'] === project;
    const options = givenVolumeOptions(entry.Options);
    return { name: entry.Name, driver: entry.Driver, options, isOwn, created_at, born_at };
  });
  return Promise.all(found);
}

interface NetworkEntry {
  Id: string;
  Name: string;
  Driver: string;
  Internal: boolean;
  Options: Options;
}

function networksOf(json: unknown): CreatedNetwork[] {
  return (json as NetworkEntry[]).map(({ Id, Name, Driver, Internal, Options }) => {
    return { id: Id, name: Name, driver: Driver, internal: Internal, options: Options ?? {} };
  });
}
