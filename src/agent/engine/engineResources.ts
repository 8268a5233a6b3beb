import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { EnginePolicyFacts } from '../../bundle/policy/policyHost.rules.ts';
import type { ProjectResources } from '../state/state.rules.ts';
import { type ContainerInspection, type ContainerListEntry, isOneOff } from './container.rules.ts';
import {
  type CreatedContainer,
  type CreatedNetwork,
  type CreatedResources,
  type CreatedVolume,
  givenVolumeOptions,
} from './createdContainer.rules.ts';
import { type EngineApi, projectFilter } from './engineApi.ts';
import {
  type DefinedNetwork,
  type EngineReading,
  type ExistingVolumes,
  type NetworkEntry,
  networkFactsOf,
  type RecordedVolume,
  type ResourceUser,
  type ResourceUserListEntry,
  resourceUserOf,
  resourceUserOfListEntry,
  type VolumeUse,
} from './resources.rules.ts';

/** An image in the engine's store, and every reference to it. */
interface LocalImage {
  id: string;
  references: string[];
}

/** A mount of the API, in its long form. */
interface MountRequest {
  Target: string;
  BindOptions?: { ReadOnlyNonRecursive?: boolean } | null;
}

/** Queries for resources of the engine and their users, also outside the project. */
export function createResourceQueries(project: string, { getJson, inspectContainer }: EngineApi) {
  const filters = JSON.stringify(projectFilter(project));
  const inspect = async ({ Id }: ResourceUserListEntry) => {
    const inspection = await inspectContainer(Id);
    return inspection && resourceUserOf(inspection as ContainerInspection);
  };
  return {
    /**
     * Every container of the engine, of any project, running or not. Podman's list lacks mounts, so each is inspected
     * there.
     */
    resourceUsers: async (): Promise<ResourceUser[]> => {
      const { json, isPodman } = await getJson({ path: '/containers/json', query: { all: 'true' } });
      const entries = json as ResourceUserListEntry[];
      if (!isPodman) return entries.map(resourceUserOfListEntry);
      return (await Promise.all(entries.map(inspect))).filter((each) => each !== null);
    },

    /** Targets of a container's read-only mounts that ask the engine to leave mounts below them writable. */
    openMounts: async (id: string): Promise<string[]> => {
      const info: { HostConfig?: { Mounts?: MountRequest[] | null } } | null = await inspectContainer(id);
      const mounts = info?.HostConfig?.Mounts ?? [];
      return mounts.flatMap(({ Target, BindOptions }) => (BindOptions?.ReadOnlyNonRecursive ? Target : []));
    },

    /** Every image, or those without a tag. */
    images: async ({ dangling = false } = {}): Promise<LocalImage[]> => {
      const query = dangling ? { filters: JSON.stringify({ dangling: ['true'] }) } : {};
      const { json } = await getJson({ path: '/images/json', query });
      return (json as ImageEntry[]).map(({ Id, RepoTags, RepoDigests }) => ({
        id: Id,
        references: [...(RepoTags ?? []), ...(RepoDigests ?? [])],
      }));
    },

    /** Every network of the engine. */
    networks: async (): Promise<DefinedNetwork[]> => {
      const { json, isPodman } = await getJson({ path: '/networks' });
      return (json as (LabelledEntry & NetworkEntry & { Id: string })[]).map((entry) => {
        const project = entry.Labels?.['com.docker.compose.project'] ?? null;
        return { id: entry.Id, name: entry.Name, project, facts: networkFactsOf(entry, isPodman), isPodman };
      });
    },

    /** The engine's resources that the policy checks. */
    policyFacts: () => policyFactsOf(project, getJson),

    /** The facts of an engine that decide whether `up` can succeed. */
    reading: async (): Promise<Omit<EngineReading, 'hostname' | 'listeners'>> => {
      const info = await getJson({ path: '/info' });
      const containers = await getJson({ path: '/containers/json', query: { all: 'true' } });
      const networks = await getJson({ path: '/networks' });
      const volumes = await getJson({ path: '/volumes' });
      return {
        project,
        isPodman: info.isPodman,
        apiVersion: info.apiVersion,
        info: info.json as EngineReading['info'],
        containers: containers.json as EngineReading['containers'],
        networks: networks.json as EngineReading['networks'],
        volumes: (volumes.json as { Volumes: NamedEntry[] | null }).Volumes ?? [],
      };
    },

    /** The project's volumes and networks. */
    ownedResources: async (): Promise<ProjectResources> => {
      const volumes = await getJson({ path: '/volumes', query: { filters } });
      const networks = await getJson({ path: '/networks', query: { filters } });
      const { Volumes } = volumes.json as { Volumes: NamedEntry[] | null };
      return { volumes: namesOf(Volumes ?? []), networks: namesOf(networks.json as NamedEntry[]) };
    },
  };
}

async function policyFactsOf(project: string, getJson: EngineApi['getJson']): Promise<EnginePolicyFacts> {
  const containers = await getJson({ path: '/containers/json', query: { all: 'true' } });
  const networks = await getJson({ path: '/networks' });
  const volumes = await getJson({ path: '/volumes' });
  const isOutside = ({ Labels }: Pick<LabelledEntry, 'Labels'>) => Labels?.['com.docker.compose.project'] !== project;
  const { Volumes } = volumes.json as { Volumes: LabelledEntry[] | null };
  const ofContainers = (containers.json as ContainerEntry[]).filter(isOutside).flatMap(({ Names }) => Names);
  const outside = {
    containers: new Set(ofContainers.map((name) => name.replace(/^\//, ''))),
    networks: new Set(namesOf((networks.json as LabelledEntry[]).filter(isOutside))),
    volumes: new Set(namesOf((Volumes ?? []).filter(isOutside))),
  };
  const [major = 0, minor = 0] = volumes.apiVersion.split('.').map(Number);
  return { outside, mountsSubpaths: isSinceDocker26(major, minor), engineApi: [major, minor] };
}

/** Whether this is version 1.45 of Docker's API, or a later one. */
function isSinceDocker26(major: number, minor: number): boolean {
  return major > 1 || (major === 1 && minor >= 45);
}

interface ImageEntry {
  Id: string;
  RepoTags: string[] | null;
  RepoDigests: string[] | null;
}

interface NamedEntry {
  Name: string;
}

interface LabelledEntry extends NamedEntry {
  Labels: Record<string, string> | null;
}

type ContainerEntry = Omit<LabelledEntry, 'Name'> & { Names: string[] };

function namesOf(named: NamedEntry[]): string[] {
  return named.map(({ Name }) => Name).sort();
}

/** -1 if the engine does not know it. */
interface UsageData {
  Size?: number;
  RefCount?: number;
}

/** One volume in the engine's list. */
interface VolumeEntry {
  Name: string;
  Driver: string;
  CreatedAt?: string;
  Mountpoint?: string;
}

/** Queries for the creation times and the use of volumes. */
export function createVolumeQueries({ onInspect }: { onInspect?: (() => void) | undefined }, { getJson }: EngineApi) {
  return {
    /** Every volume of the engine. A driver that does not answer leaves a warning in the list. */
    existingVolumes: async (): Promise<ExistingVolumes> => {
      onInspect?.(); // options of a volume may contain secrets
      const { json, apiVersion, isPodman } = await getJson({ path: '/volumes' });
      const { Volumes, Warnings } = json as { Volumes: VolumeEntry[] | null; Warnings?: string[] | null };
      return {
        volumes: await Promise.all((Volumes ?? []).map(timesOf)),
        isComplete: (Warnings ?? []).length === 0,
        hasStableTimes: isPodman || isSinceDocker23(apiVersion),
      };
    },

    /** Size and use of every volume. The engine measures each one, which may take a while. */
    volumeUses: async (): Promise<VolumeUse[]> => {
      const { json } = await getJson({ path: '/system/df', query: { type: 'volume' } });
      const { Volumes } = json as { Volumes: (VolumeEntry & { UsageData?: UsageData | null })[] | null };
      return (Volumes ?? []).map(({ Name, UsageData }) => {
        const { Size = -1, RefCount = -1 } = UsageData ?? {};
        return { name: Name, size: Size < 0 ? null : Size, isMounted: RefCount !== 0 };
      });
    },
  };
}

/** The times of a volume; plugin drivers return none, or the year 1. */
async function timesOf({ Name, Driver, CreatedAt, Mountpoint }: VolumeEntry): Promise<RecordedVolume> {
  const createdMs = Date.parse(CreatedAt ?? '');
  const born_at = Driver === 'local' && Mountpoint ? await birthOf(dirname(Mountpoint)) : null;
  return { name: Name, created_at: createdMs > 0 ? (CreatedAt ?? null) : null, born_at };
}

/** When a directory was created; null if the file system does not record it, or the agent has no access. */
async function birthOf(directory: string): Promise<string | null> {
  const ms = await stat(directory).then(
    ({ birthtimeMs }) => birthtimeMs,
    () => 0,
  );
  return ms > 0 ? new Date(ms).toISOString() : null;
}

/** Whether this is version 1.42 of Docker's API, or a later one. */
function isSinceDocker23(apiVersion: string): boolean {
  const [major = 0, minor = 0] = apiVersion.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 42);
}

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

interface InspectedNetwork {
  Id: string;
  Name: string;
  Driver: string;
  Internal: boolean;
  Options: Options;
}

function networksOf(json: unknown): CreatedNetwork[] {
  return (json as InspectedNetwork[]).map(({ Id, Name, Driver, Internal, Options }) => {
    return { id: Id, name: Name, driver: Driver, internal: Internal, options: Options ?? {} };
  });
}
