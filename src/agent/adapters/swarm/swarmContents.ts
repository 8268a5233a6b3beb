import type { SwarmContent } from '../../rules/stack/stackContents.ts';
import type { SwarmObjects } from '../engine/swarmObjects.ts';
import { swarmNamesOf } from './swarmNames.ts';

/** Where each kind of content is kept. */
export type ContentStores = Record<SwarmContent['kind'], SwarmObjects>;

export type SwarmContents = ReturnType<typeof createSwarmContents>;

/** Files and secrets that the swarm keeps for the tasks of an env, by names that their content decides. */
export function createSwarmContents(stores: ContentStores, env: string) {
  const { contentPrefix, contents: nameOf } = swarmNamesOf(env);
  return {
    /** How contents are named; the key is the swarm's. */
    nameOf,

    /** Keeps what is not kept yet: a name that is given away has this content. */
    keep: async (contents: readonly SwarmContent[]): Promise<void> => {
      for (const { kind, name, data } of contents)
        await stores[kind].create({ name, data, labels: { 'deployd.env': env } });
    },

    /** Removes all contents but these; those that a service still uses stay, until they are removed with it. */
    removeOthers: async (used: ReadonlySet<string>): Promise<void> => {
      for (const kind of ['config', 'secret'] as const)
        for (const content of await stores[kind].list(contentPrefix[kind]))
          if (!used.has(content.name)) await stores[kind].remove(content);
    },
  };
}
