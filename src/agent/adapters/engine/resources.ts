import {
  holderOf,
  holderOfEntry,
  type Holder,
  type HolderEntry,
  type Inspection,
} from '../../rules/health/container.ts';
import type { Owned } from '../../rules/release/owned.ts';
import type { Calls } from './engineCalls.ts';
import { unlessGone } from './unlessGone.ts';

/** An image that is here, and every reference to it. */
export interface ImageHere {
  id: string;
  references: string[];
}

/** What an engine has and who uses it, beyond the containers of the project. */
export function createResources(project: string, onInspect: () => void, { answer, sorted }: Calls) {
  const filters = JSON.stringify({ label: [`com.docker.compose.project=${project}`] });
  const inspect = async ({ Id }: HolderEntry) => {
    onInspect();
    const found = await sorted(unlessGone(answer({ path: `/containers/${Id}/json` })));
    return found && holderOf(found.json as Inspection);
  };
  return {
    /** Every container of the engine, whoever made it, running or not. Podman's list does not tell what they mount. */
    holders: async (): Promise<Holder[]> => {
      const { json, isPodman } = await sorted(answer({ path: '/containers/json', query: { all: 'true' } }));
      const entries = json as HolderEntry[];
      if (!isPodman) return entries.map(holderOfEntry);
      return (await Promise.all(entries.map(inspect))).filter((each) => each !== null);
    },

    images: async (): Promise<ImageHere[]> => {
      const { json } = await sorted(answer({ path: '/images/json' }));
      return (json as ImageEntry[]).map(({ Id, RepoTags, RepoDigests }) => ({
        id: Id,
        references: [...(RepoTags ?? []), ...(RepoDigests ?? [])],
      }));
    },

    /** The project's volumes and networks. */
    owned: async (): Promise<Owned> => {
      const volumes = await sorted(answer({ path: '/volumes', query: { filters } }));
      const networks = await sorted(answer({ path: '/networks', query: { filters } }));
      const { Volumes } = volumes.json as { Volumes: Named[] | null };
      return { volumes: namesOf(Volumes ?? []), networks: namesOf(networks.json as Named[]) };
    },
  };
}

interface ImageEntry {
  Id: string;
  RepoTags: string[] | null;
  RepoDigests: string[] | null;
}

interface Named {
  Name: string;
}

function namesOf(named: Named[]): string[] {
  return named.map(({ Name }) => Name).sort();
}
