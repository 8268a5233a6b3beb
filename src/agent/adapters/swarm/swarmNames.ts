import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { ContentSources, SwarmContent } from '../../rules/stack/stackContents.ts';

/** Names of what the swarm keeps for an env; none is longer than the 64 characters that it allows. */
export interface SwarmNames {
  /** How the names of contents begin, and no other names of that kind. */
  contentPrefix: Record<SwarmContent['kind'], string>;
  state: string;
  /** The service that does something on nodes; names of services have no dots. */
  job: string;
  key: string;
  /** What a content is called, by what makes it another one besides its data; a secret's name tells nothing without the key. */
  contents: (key: Uint8Array) => ContentSources['nameOf'];
}

/** The beginning of a digest that stands in a name. */
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
