import type { EngineApi } from './engineApi.ts';
import { inBody, isOutOfSequence, unless } from './swarmRequest.ts';

/** A config or secret of the swarm. */
export interface SwarmObject {
  id: string;
  version: number;
  name: string;
  labels: Record<string, string>;
  /** Empty for a secret, which the swarm never tells. */
  data: Buffer;
}

/** A config or secret to be. */
export type NewSwarmObject = Pick<SwarmObject, 'name' | 'labels'> & { data: Uint8Array };

export type SwarmObjects = ReturnType<typeof createSwarmObjects>;

/** The configs or the secrets of the swarm that the engine is a manager of. Throws RUNTIME_UNAVAILABLE when it cannot say. */
export function createSwarmObjects(kind: 'config' | 'secret', { withDocker, getJson }: EngineApi) {
  return {
    /** Those whose names begin so. */
    list: async (prefix: string): Promise<SwarmObject[]> => {
      const { json } = await getJson({ path: `/${kind}s`, query: { filters: JSON.stringify({ name: [prefix] }) } });
      return (json as ListedObject[]).map(objectOf).filter(({ name }) => name.startsWith(prefix));
    },

    /** False when there is one of that name. */
    create: ({ name, labels, data }: NewSwarmObject): Promise<boolean> => {
      const body = { Name: name, Labels: labels, Data: Buffer.from(data).toString('base64') };
      return withDocker((docker, options) => {
        const request = inBody(options, body);
        const call = kind === 'config' ? docker.createConfig(request) : docker.createSecret(request);
        return unless(({ statusCode }) => statusCode === 409, call);
      });
    },

    /** Changes the labels; false when another writer was first, or it is gone. */
    relabel: ({ id, version, name, data }: SwarmObject, labels: Record<string, string>): Promise<boolean> => {
      const body = { Name: name, Labels: labels, ...(kind === 'config' && { Data: data.toString('base64') }) };
      return withDocker((docker, options) => {
        const object = kind === 'config' ? docker.getConfig(id) : docker.getSecret(id);
        return unless(isOutOfSequence, object.update(inBody(options, body, { version })));
      });
    },

    /** False when a service uses it. */
    remove: ({ id }: SwarmObject): Promise<boolean> =>
      withDocker(async (docker, options) => {
        const object = kind === 'config' ? docker.getConfig(id) : docker.getSecret(id);
        const isGone = unless(({ statusCode }) => statusCode === 404, object.remove(options));
        return unless(({ message = '' }) => message.includes('in use by'), isGone);
      }),
  };
}

/** The one of that name; null without one. */
export async function findObject({ list }: SwarmObjects, name: string): Promise<SwarmObject | null> {
  return (await list(name)).find((each) => each.name === name) ?? null;
}

interface ListedObject {
  ID: string;
  Version: { Index: number };
  Spec: { Name: string; Labels: Record<string, string> | null; Data?: string };
}

function objectOf({ ID, Version, Spec }: ListedObject): SwarmObject {
  const data = Buffer.from(Spec.Data ?? '', 'base64');
  return { id: ID, version: Version.Index, name: Spec.Name, labels: Spec.Labels ?? {}, data };
}
