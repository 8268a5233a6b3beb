import {
  type ResourceUser,
  type ResourceUserListEntry,
  resourceUserOf,
  resourceUserOfListEntry,
} from '../../rules/health/resourceUser.ts';
import { type DefinedNetwork, type NetworkEntry, networkFactsOf } from '../../rules/createdContainers/networkPlan.ts';
import type { EngineReading } from '../../rules/bundle/engineMeans.ts';
import type { ContainerInspection } from '../../rules/health/engineContainer.ts';
import type { ProjectResources } from '../../rules/release/projectResources.ts';
import type { EnginePolicyFacts } from '../../../bundle/policy/policyHost.rules.ts';
import type { EngineApi } from './engineApi.ts';
import { projectFilter } from './projectFilter.ts';

/** An image in the engine's store, and every reference to it. */
export interface LocalImage {
  id: string;
  references: string[];
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

    /** What the policy judges by. */
    policyFacts: () => policyFactsOf(project, getJson),

    /** What of an engine decides whether `up` can succeed. */
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
