/** Engine names of the volumes and networks with the project's label. */
export interface ProjectResources {
  volumes: string[];
  networks: string[];
}

/** No resources. */
export const noResources: ProjectResources = { volumes: [], networks: [] };

/** The resources in both. */
export function commonResources(first: ProjectResources, second: ProjectResources): ProjectResources {
  return filterResources(first, (kind, name) => second[kind].includes(name));
}

/** The resources in the first but not in the second. */
export function resourcesWithout(first: ProjectResources, second: ProjectResources): ProjectResources {
  return filterResources(first, (kind, name) => !second[kind].includes(name));
}

/** True without any volume or network. */
export function hasNoResources({ volumes, networks }: ProjectResources): boolean {
  return volumes.length === 0 && networks.length === 0;
}

/** `volume a, network b`; `suffixOf` returns the text after each name. */
export function describeResources(
  resources: ProjectResources,
  suffixOf: (kind: keyof ProjectResources, name: string) => string = () => '',
): string {
  const volumes = resources.volumes.map((name) => `volume ${name}${suffixOf('volumes', name)}`);
  return [...volumes, ...resources.networks.map((name) => `network ${name}${suffixOf('networks', name)}`)].join(', ');
}

function filterResources(
  { volumes, networks }: ProjectResources,
  isKept: (kind: keyof ProjectResources, name: string) => boolean,
): ProjectResources {
  return {
    volumes: volumes.filter((name) => isKept('volumes', name)),
    networks: networks.filter((name) => isKept('networks', name)),
  };
}
