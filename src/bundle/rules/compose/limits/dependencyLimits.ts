import { composeLimits } from './composeLimits.ts';
import type { ComposeNode } from '../document/composeNode.ts';
import { serviceDependenciesOf } from '../document/serviceDependencies.ts';

/** Size of the dependency graph below a service, as compose follows it. */
interface DependencyReach {
  /** Number of paths, including the empty one that ends at the service itself. */
  paths: number;
  /** Dependencies on the longest path. */
  depth: number;
}

const dependencyKeys = 'depends_on, links or volumes_from';

/**
 * The first limit that the dependencies of a bundle's services exceed. Dependencies on missing services are ignored.
 */
export function validateDependencies(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
): { service: string; message: string }[] {
  const reachByService = new Map<string, DependencyReach | null>();
  const dependenciesByService = new Map(
    [...services].map(([name, layers]) => [name, dependenciesOf(layers).filter((each) => services.has(each))]),
  );
  let [dependencies, paths] = [0, 0];
  for (const [service, direct] of dependenciesByService) {
    dependencies += direct.length;
    if (dependencies > composeLimits.dependencies)
      return [
        { service, message: `${dependencyKeys}: more than ${composeLimits.dependencies} dependencies in the bundle` },
      ];
  }
  for (const service of dependenciesByService.keys()) {
    const reach = reachOf(service, dependenciesByService, reachByService);
    paths += reach.paths;
    if (reach.depth > composeLimits.dependencyDepth)
      return [{ service, message: `${dependencyKeys}: a chain of more than ${composeLimits.dependencyDepth}` }];
    if (paths > composeLimits.dependencyPaths)
      return [
        {
          service,
          message: `${dependencyKeys}: more than ${composeLimits.dependencyPaths} ways through the dependencies`,
        },
      ];
  }
  return [];
}

function dependenciesOf(layers: readonly ComposeNode[]): string[] {
  return [...new Set(serviceDependenciesOf(layers).map(({ name }) => name))];
}

/** `reachByService` is null for services in progress: reaching one again is a cycle, which compose refuses itself. */
function reachOf(
  service: string,
  dependenciesByService: ReadonlyMap<string, string[]>,
  reachByService: Map<string, DependencyReach | null>,
): DependencyReach {
  const visited = reachByService.get(service);
  if (visited !== undefined) return visited ?? { paths: 0, depth: 0 };
  reachByService.set(service, null);
  const reach = { paths: 1, depth: 0 };
  for (const { paths, depth } of (dependenciesByService.get(service) ?? []).map((each) =>
    reachOf(each, dependenciesByService, reachByService),
  )) {
    reach.paths += paths;
    reach.depth = Math.max(reach.depth, depth + 1);
  }
  reachByService.set(service, reach);
  return reach;
}
