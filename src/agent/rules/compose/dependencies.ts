import { limits } from './limits.ts';
import { at, entriesOf, itemsOf, textOf, type Tree } from './tree.ts';

/** What compose meets when it follows the dependencies of a service. */
interface Reach {
  /** Ways to go, the one that ends at the service itself included. */
  ways: number;
  /** Dependencies on the longest of them. */
  chain: number;
}

const where = 'depends_on, links or volumes_from';

/** What is too much about the dependencies of a bundle's services, none on what is not there; the first that is. */
export function judgeDependencies(services: ReadonlyMap<string, readonly Tree[]>): { service: string; what: string }[] {
  const known = new Map<string, Reach | null>();
  const needs = new Map(
    [...services].map(([name, layers]) => [name, needsOf(layers).filter((each) => services.has(each))]),
  );
  let [edges, ways] = [0, 0];
  for (const [service, direct] of needs) {
    edges += direct.length;
    if (edges > limits.dependencies)
      return [{ service, what: `${where}: more than ${limits.dependencies} dependencies in the bundle` }];
  }
  for (const service of needs.keys()) {
    const reach = reachOf(service, needs, known);
    ways += reach.ways;
    if (reach.chain > limits.chain) return [{ service, what: `${where}: a chain of more than ${limits.chain}` }];
    if (ways > limits.ways)
      return [{ service, what: `${where}: more than ${limits.ways} ways through the dependencies` }];
  }
  return [];
}

/** Services that compose starts before the one that these texts make up. */
function needsOf(layers: readonly Tree[]): string[] {
  const listed = ['depends_on', 'links', 'volumes_from'].flatMap((key) =>
    layers.flatMap((layer) => itemsOf(at(layer, key))),
  );
  const joined = ['network_mode', 'ipc', 'pid'].flatMap((key) =>
    layers.flatMap((layer) => textOf(at(layer, key)) ?? []),
  );
  const names = [
    ...layers.flatMap((layer) => entriesOf(at(layer, 'depends_on')).map(([name]) => name)),
    ...listed.flatMap((one) => textOf(one)?.split(':', 1) ?? []),
    ...joined.flatMap((mode) => /^service:(.+)$/.exec(mode)?.[1] ?? []),
  ];
  return [...new Set(names)];
}

/** Null in `known` is what is being looked at: a way back to it is a circle, at which every compose stops. */
function reachOf(service: string, needs: ReadonlyMap<string, string[]>, known: Map<string, Reach | null>): Reach {
  const before = known.get(service);
  if (before !== undefined) return before ?? { ways: 0, chain: 0 };
  known.set(service, null);
  const reach = { ways: 1, chain: 0 };
  for (const { ways, chain } of (needs.get(service) ?? []).map((each) => reachOf(each, needs, known))) {
    reach.ways += ways;
    reach.chain = Math.max(reach.chain, chain + 1);
  }
  known.set(service, reach);
  return reach;
}
