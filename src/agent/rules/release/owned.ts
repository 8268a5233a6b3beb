/** Volumes and networks that carry the project's label, by their names on the engine. */
export interface Owned {
  volumes: string[];
  networks: string[];
}

/** Neither a volume nor a network. */
export const nothing: Owned = { volumes: [], networks: [] };

/** What is in the first and in the second as well. */
export function within(first: Owned, second: Owned): Owned {
  return filtered(first, (kind, name) => second[kind].includes(name));
}

/** What is in the first and not in the second. */
export function beyond(first: Owned, second: Owned): Owned {
  return filtered(first, (kind, name) => !second[kind].includes(name));
}

/** Whether there is neither a volume nor a network. */
export function isNothing({ volumes, networks }: Owned): boolean {
  return volumes.length === 0 && networks.length === 0;
}

/** `volume a, network b`, with what is to be said of each. */
export function describeOwned(owned: Owned, say: (kind: keyof Owned, name: string) => string = () => ''): string {
  const volumes = owned.volumes.map((name) => `volume ${name}${say('volumes', name)}`);
  return [...volumes, ...owned.networks.map((name) => `network ${name}${say('networks', name)}`)].join(', ');
}

function filtered({ volumes, networks }: Owned, stays: (kind: keyof Owned, name: string) => boolean): Owned {
  return {
    volumes: volumes.filter((name) => stays('volumes', name)),
    networks: networks.filter((name) => stays('networks', name)),
  };
}
