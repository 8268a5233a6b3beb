/** A circle in a graph, each name followed by one that it leads to, the first once more at the end; null without one. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const path = new Set<string>();
  const search = (name: string): string[] | null => {
    if (path.has(name)) return [...[...path].slice([...path].indexOf(name)), name];
    if (done.has(name)) return null;
    path.add(name);
    const circle = firstOf(graph.get(name) ?? [], search);
    path.delete(name);
    done.add(name);
    return circle;
  };
  return firstOf(graph.keys(), search);
}

/** The first result that is not null. */
function firstOf(names: Iterable<string>, search: (name: string) => string[] | null): string[] | null {
  for (const name of names) {
    const found = search(name);
    if (found !== null) return found;
  }
  return null;
}
