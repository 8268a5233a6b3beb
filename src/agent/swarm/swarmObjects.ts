import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { EngineApi } from '../engine/engineApi.ts';
import type { ContentSources, SwarmContent } from './stack.rules.ts';

/** A config or secret of the swarm. */
export interface SwarmObject {
  id: string;
  version: number;
  name: string;
  labels: Record<string, string>;
  /** Empty for a secret, whose value the swarm never returns. */
  data: Buffer;
}

/** A config or secret to create. */
type NewSwarmObject = Pick<SwarmObject, 'name' | 'labels'> & { data: Uint8Array };

export type SwarmObjects = ReturnType<typeof createSwarmObjects>;

/** The configs or the secrets of the engine's swarm. Throws RUNTIME_UNAVAILABLE when it cannot be queried. */
export function createSwarmObjects(kind: 'config' | 'secret', { withDocker, getJson }: EngineApi) {
  return {
    /** The objects whose names have this prefix. */
    list: async (prefix: string): Promise<SwarmObject[]> => {
      const { json } = await getJson({ path: `/${kind}s`, query: { filters: JSON.stringify({ name: [prefix] }) } });
      return (json as ListedObject[]).map(objectOf).filter(({ name }) => name.startsWith(prefix));
    },

    /** False when an object with that name exists. */
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

/** The object with that name; null if there is none. */
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

/** A request by dockerode, which would also put the body into the path, which other programs may log. */
export function inBody(options: { abortSignal: AbortSignal }, body: object, query: object = {}) {
  return { ...options, _query: query, _body: body };
}

interface EngineError {
  statusCode?: number;
  message?: string;
}

/** True when a call succeeds, false when it fails with an expected error. */
export function unless(isExpected: (error: EngineError) => boolean, call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    (error: unknown) => {
      if (isExpected(error as EngineError)) return false;
      throw error;
    },
  );
}

/** True when another writer was first, or the object is gone. */
export function isOutOfSequence({ statusCode, message = '' }: EngineError): boolean {
  return statusCode === 404 || message.includes('update out of sequence');
}

/** Where each kind of content is kept. */
type ContentStores = Record<SwarmContent['kind'], SwarmObjects>;

/** Files and secrets that the swarm stores for the tasks of an environment, under names derived from their content. */
export function createSwarmContents(stores: ContentStores, env: string) {
  const { contentPrefix, contents: nameOf } = swarmNamesOf(env);
  return {
    /** How contents are named; the key is the swarm's. */
    nameOf,

    /** Stores missing contents: a name that is taken has this content. */
    keep: async (contents: readonly SwarmContent[]): Promise<void> => {
      for (const { kind, name, data } of contents)
        await stores[kind].create({ name, data, labels: { 'deployd.env': env } });
    },

    /** Removes all other contents; contents that a service still uses stay until the service is removed. */
    removeOthers: async (used: ReadonlySet<string>): Promise<void> => {
      for (const kind of ['config', 'secret'] as const)
        for (const content of await stores[kind].list(contentPrefix[kind]))
          if (!used.has(content.name)) await stores[kind].remove(content);
    },
  };
}

/** Names of the objects that the swarm stores for an environment, at most 64 characters long as it requires. */
interface SwarmNames {
  /** Prefix of the names of contents, and of no other names of that kind. */
  contentPrefix: Record<SwarmContent['kind'], string>;
  state: string;
  /** The service that runs work on nodes; names of services have no dots. */
  job: string;
  key: string;
  /**
   * The name of a content, from the facts that identify it in addition to its data; a secret's name reveals nothing
   * without the key.
   */
  contents: (key: Uint8Array) => ContentSources['nameOf'];
}

/** The beginning of a digest in a name. */
const envDigits = 12;
const contentDigits = 20;

/** The names of an env, which itself may be longer than a name. */
export function swarmNamesOf(env: string): SwarmNames {
  const digits = createHash('sha256').update(env).digest('hex').slice(0, envDigits);
  const prefix = `deployd.${digits}.`;
  return {
    contentPrefix: { config: `${prefix}file.`, secret: prefix },
    state: `${prefix}state`,
    job: `deployd-${digits}-job`,
    key: `${prefix}key`,
    contents: (key) => ({
      config: (identity, data) => `${prefix}file.${digest(createHash('sha256'), identity, data)}`,
      secret: (identity, data) => `${prefix}${digest(createHmac('sha256', key), identity, data)}`,
    }),
  };
}

function digest(hash: Hash | Hmac, identity: string, data: Uint8Array): string {
  return hash.update(`${identity}\0`).update(data).digest('hex').slice(0, contentDigits);
}
