import { envAndLabelPathsOf } from '../compose/composeProject.rules.ts';
import {
  type ComposeNode,
  type DocumentSize,
  documentSizeOf,
  entriesOf,
  exceededLimitOf,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import {
  effectiveValue,
  maxServices,
  type MergedFiles,
  serviceDependenciesOf,
  visitGraph,
} from '../compose/services.rules.ts';
import type { Finding } from './finding.rules.ts';

/** Validates the totals over all services of a bundle, with files merged and `extends` resolved (spec §12.2). */
export function validateBundleLimits({ services }: MergedFiles, texts?: ReadonlyMap<string, string>): Finding[] {
  const overfull = firstServiceOver(services, containerCountOf, composeLimits.containers);
  if (overfull !== null)
    return refuseService(overfull, `more than ${composeLimits.containers} containers in the bundle`);
  const portsUnder = (key: string) => (layers: readonly ComposeNode[]) =>
    valuesAt(layers, key)
      .flatMap(itemsOf)
      .reduce((sum, entry) => sum + portCountOf(entry), 0);
  const lengthsOf = (layers: readonly ComposeNode[]) =>
    layers.flatMap(envAndLabelPathsOf).reduce((sum, path) => sum + (texts?.get(path)?.length ?? 0), 0);
  const refuseIfAny = (service: string | null, message: string) =>
    service === null ? [] : refuseService(service, message);
  return [
    ...['ports', 'expose'].flatMap((key) =>
      refuseIfAny(
        firstServiceOver(services, portsUnder(key), composeLimits.ports),
        `${key}: more than ${composeLimits.ports} ports in the bundle`,
      ),
    ),
    ...refuseIfAny(
      firstServiceOver(services, lengthsOf, composeLimits.envCharacters),
      `env_file: more than ${composeLimits.envCharacters} characters of env files and label files in the bundle`,
    ),
    ...validateDependencies(services).flatMap(({ service, message }) => refuseService(service, message)),
  ];
}

const smallerBundle = 'make it smaller, or divide the bundle';

/**
 * Validates the size of all files together. The parser limits each single file, but aliases can multiply several small
 * ones.
 */
export function validateDocumentSize({ files, services }: MergedFiles): Finding[] {
  const sections = files.flatMap(({ root }) => entriesOf(root).filter(([section]) => section !== 'services'));
  const parts = [...sections.map(([, part]) => part), ...[...services.values()].flat()];
  const sum: DocumentSize = { nodes: 0, characters: 0, depth: 0 };
  for (const { nodes, characters } of parts.map(documentSizeOf)) {
    sum.nodes += nodes;
    sum.characters += characters;
  }
  const excess = exceededLimitOf(sum);
  return excess === null
    ? []
    : [{ code: 'COMPOSE_REFUSED', text: `compose files together: ${excess}`, cure: smallerBundle }];
}

/** The service at which the running sum over the services, in their order, exceeds a limit. */
function firstServiceOver(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
  amountOf: (layers: readonly ComposeNode[]) => number,
  limit: number,
): string | null {
  let sum = 0;
  return [...services].find(([, layers]) => (sum += amountOf(layers)) > limit)?.[0] ?? null;
}

/**
 * At least 1, because a service without containers costs compose as much. At most the limit of one service, which is
 * validated separately.
 */
function containerCountOf(layers: readonly ComposeNode[]): number {
  const written = [effectiveValue(layers, 'scale'), effectiveValue(layers, 'deploy', 'replicas')];
  const counts = written.map((one) => Math.min(composeLimits.containersPerService, countOf(one)));
  return Math.max(1, ...counts);
}

function refuseService(service: string, message: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: `service ${service}: ${message}`, cure: smallerBundle }];
}

/**
 * Limits on the requests of a bundle to compose (docs/bundle-limits.md lists them). Applications need less, and every
 * compose from 2.20 on finishes within seconds.
 */
export const composeLimits = {
  /** Containers of one service. */
  containersPerService: 100,
  /** Containers of the bundle; each service counts as at least one. */
  containers: maxServices,
  /** Published, and likewise exposed, ports of the bundle, ranges expanded. */
  ports: 2_000,
  /** Dependencies between services. */
  dependencies: 2_000,
  /** Paths through the dependencies; compose follows every path from every service. */
  dependencyPaths: 1_000_000,
  /** Dependencies in a chain. */
  dependencyDepth: 50,
  /** Keys of one mapping; compose compares every pair. */
  keysPerMapping: 5_000,
  /** Characters of a command that compose splits into words, in quadratic time. */
  commandCharacters: 16_384,
  /** Characters of one text; the kernel accepts no longer argument or environment variable. */
  textCharacters: 131_072,
  /** Lines of one env file; compose 2.20 keeps a copy of the rest of the file for each line. */
  envLines: 1_000,
  /** Characters of env files and label files, counted once for every service that reads the file. */
  envCharacters: 524_288,
} as const;

/** A number as compose reads it; 0 for a text with a variable and for anything else. */
export function countOf(value: ComposeNode | undefined): number {
  return Number(textOf(value)?.replaceAll('_', '')) || 0;
}

/** The number of ports of an entry of `ports` or `expose` after compose has expanded its ranges. */
function portCountOf(entry: ComposeNode): number {
  const written = textsOf([entry, valueAt(entry, 'target'), valueAt(entry, 'published')]);
  const ranges = written.flatMap((one) => [...one.matchAll(/(?<!\d)(\d+)-(\d+)/g)]);
  return ranges.reduce((most, [, first, last]) => Math.max(most, Number(last) - Number(first) + 1), 1);
}

/** Size of the dependency graph below a service, as compose follows it. */
interface DependencyReach {
  /** Number of paths, including the empty one that ends at the service itself. */
  paths: number;
  /** Dependencies on the longest path. */
  depth: number;
}

/** Of a service that is on the way already: a circle, which compose itself refuses. */
const noReach: DependencyReach = { paths: 0, depth: 0 };

const dependencyKeys = 'depends_on, links or volumes_from';

/**
 * The first limit that the dependencies of a bundle's services exceed. Dependencies on missing services are ignored.
 */
function validateDependencies(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
): { service: string; message: string }[] {
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
  const reachByService = reachesOf(dependenciesByService);
  for (const service of dependenciesByService.keys()) {
    const reach = reachByService.get(service) ?? noReach;
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

function reachesOf(dependenciesByService: ReadonlyMap<string, string[]>): Map<string, DependencyReach> {
  const reaches = new Map<string, DependencyReach>();
  for (const service of visitGraph(dependenciesByService).order) {
    const reach = { paths: 1, depth: 0 };
    for (const each of dependenciesByService.get(service) ?? []) {
      const { paths, depth } = reaches.get(each) ?? noReach;
      reach.paths += paths;
      reach.depth = Math.max(reach.depth, depth + 1);
    }
    reaches.set(service, reach);
  }
  return reaches;
}
