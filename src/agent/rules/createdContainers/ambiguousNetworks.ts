/** A network of the engine, and the compose project that made it; null without one. */
export interface NamedNetwork {
  id: string;
  name: string;
  project: string | null;
}

/** The names that several networks have of which one is the project's, by label or name, with the ids of all; sorted. */
export function ambiguousNetworks(
  networks: readonly NamedNetwork[],
  project: string,
): { name: string; ids: string[] }[] {
  const isOwn = (each: NamedNetwork) => each.project === project || each.name.startsWith(`${project}_`);
  const names = [...new Set(networks.filter(isOwn).map(({ name }) => name))].sort();
  return names
    .map((name) => ({ name, ids: networks.filter((each) => each.name === name).map(({ id }) => id) }))
    .filter(({ ids }) => ids.length > 1);
}
