import { type ComposeNode, entriesOf, itemsOf, textOf, textsOf, valueAt, valuesAt } from './composeNode.rules.ts';

/** Services of a bundle. Nothing else is said of a bundle with more: rules compare services with each other. */
export const maxServices = 500;

/** Longest chain of `extends`; `validateComposePolicy` refuses a longer one, of which the rest is ignored here. */
const maxExtendsDepth = 16;

/** The mappings that compose merges into each service, lowest priority first: per file its bases, then its own text. */
export type ServiceLayers = ReadonlyMap<string, readonly ComposeNode[]>;

/** Compose files, or the model that compose makes of them as the only one, with the services that compose merges from them. */
export interface MergedFiles<File extends { root: ComposeNode } = { root: ComposeNode }> {
  readonly files: readonly File[];
  readonly services: ServiceLayers;
}

export function mergedFilesOf<File extends { root: ComposeNode }>(files: readonly File[]): MergedFiles<File> {
  return { files, services: serviceLayers(files) };
}

export function serviceLayers(files: readonly { root: ComposeNode }[]): ServiceLayers {
  const layers = new Map<string, ComposeNode[]>();
  for (const { root } of files) {
    const services = valueAt(root, 'services');
    for (const [name] of entriesOf(services)) {
      layers.set(name, [...(layers.get(name) ?? []), ...extendsChain(services, name, 0)]);
    }
  }
  return layers;
}

/** A service with the mappings that compose merges into it. */
export interface MergedService {
  name: string;
  layers: readonly ComposeNode[];
}

/** The services into which compose merges a mapping: its own, and those that extend it. */
export type MergedServices = ReadonlyMap<ComposeNode, readonly MergedService[]>;

export function mergedServicesOf({ services }: MergedFiles): MergedServices {
  const merged = new Map<ComposeNode, MergedService[]>();
  for (const [name, layers] of services) {
    for (const layer of layers) merged.set(layer, [...(merged.get(layer) ?? []), { name, layers }]);
  }
  return merged;
}

/** Why the `extends` of a service is invalid; null when it is valid or missing. */
export function extendsFault(services: ComposeNode | undefined, name: string, depth = 0): string | null {
  const service = valueAt(services, name);
  if (valueAt(service, 'extends') === undefined) return null;
  const base = extendedService(service);
  if (base === null) return 'extends no service: name one';
  if (valueAt(services, base) === undefined) return `extends ${base}, which is not in the same file`;
  return depth >= maxExtendsDepth ? 'extends in a circle or too deep' : extendsFault(services, base, depth + 1);
}

function extendsChain(services: ComposeNode | undefined, name: string, depth: number): ComposeNode[] {
  const service = valueAt(services, name);
  if (service === undefined || depth > maxExtendsDepth) return [];
  const base = extendedService(service);
  return [...(base === null ? [] : extendsChain(services, base, depth + 1)), service];
}

function extendedService(service: ComposeNode | undefined): string | null {
  return textOf(valueAt(service, 'extends')) ?? textOf(valueAt(service, 'extends', 'service'));
}

/** The value under a chain of keys that takes effect: the value of the last layer that has the key. */
export function effectiveValue(layers: readonly ComposeNode[], ...keys: string[]): ComposeNode | undefined {
  return valuesAt(layers, ...keys).at(-1);
}

/**
 * The mounts that no service has, because a later layer of each service that names them mounts something else at their
 * target.
 */
export function replacedMounts({ services }: MergedFiles): ReadonlySet<ComposeNode> {
  const perService = [...services.values()].map((layers) =>
    layers.map((layer) => itemsOf(valueAt(layer, 'volumes')).map(withTarget)),
  );
  // versions of compose differ in which of two mounts of one layer they keep
  const mountedBy = (layers: [unknown, ComposeNode][][]) =>
    layers.flatMap((mounts, index) => {
      const later = new Set(layers.slice(index + 1).flatMap((layer) => layer.map(([target]) => target)));
      return mounts.filter(([target]) => !later.has(target)).map(([, mount]) => mount);
    });
  const mounted = new Set(perService.flatMap(mountedBy));
  return new Set(perService.flat(2).flatMap(([, mount]) => (mounted.has(mount) ? [] : [mount])));
}

/** A mount without a target replaces none. */
function withTarget(mount: ComposeNode): [string | ComposeNode, ComposeNode] {
  const [source, target = source] = textOf(mount)?.split(':') ?? [];
  return [textOf(valueAt(mount, 'target')) ?? target ?? mount, mount];
}

/** The profiles of a service: compose adds up the profiles of its bases and of every file. */
export function profilesOf(layers: readonly ComposeNode[]): string[] {
  return [...new Set(textsOf(valuesAt(layers, 'profiles').flatMap(itemsOf)))];
}

/** The layers of the services that run with the chosen profiles: those without a profile, and those with a chosen one. */
export function activeServices(services: ServiceLayers, chosen: readonly string[]): ServiceLayers {
  const isActive = (profiles: string[]) =>
    profiles.length === 0 || profiles.some((profile) => chosen.includes(profile));
  return new Map([...services].filter(([, layers]) => isActive(profilesOf(layers))));
}

/** A service that compose starts before another one. */
interface ServiceDependency {
  /** The key that names it. */
  key: string;
  name: string;
  /** False for `required: false` of `depends_on`: compose does without the service when it does not run. */
  required: boolean;
}

/** Names, and those that each leads to, such as services and the services that they depend on. */
export type NameGraph = ReadonlyMap<string, readonly string[]>;

/**
 * Visits a graph depth first. `order` has each name after those that it leads to, except along a circle; `circle` is the
 * first circle. There each name is followed by one that it leads to, and the first one ends it. Not recursive, since the
 * author of a bundle decides how long a chain is.
 */
export function visitGraph(graph: NameGraph): { order: Iterable<string>; circle: string[] | null } {
  const order = new Set<string>();
  let circle: string[] | null = null;
  for (const start of graph.keys()) {
    const path = new Set<string>();
    const open: { name: string; rest: Iterator<string> }[] = [];
    const enter = (name: string) => {
      if (path.has(name)) circle ??= [...[...path].slice([...path].indexOf(name)), name];
      if (path.has(name) || order.has(name)) return;
      path.add(name);
      open.push({ name, rest: (graph.get(name) ?? []).values() });
    };
    enter(start);
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const next = last.rest.next();
      if (next.done !== true) {
        enter(next.value);
        continue;
      }
      open.pop();
      path.delete(last.name);
      order.add(last.name);
    }
  }
  return { order, circle };
}

/** Where other keys than `depends_on` name a service. */
const references: readonly [key: string, service: RegExp][] = [
  ['links', /^[^:]+/],
  ['volumes_from', /^(?!container:)[^:]+/],
  ['network_mode', /(?<=^service:).+/],
  ['ipc', /(?<=^service:).+/],
  ['pid', /(?<=^service:).+/],
];

/** The services that compose starts before the service with these layers, each once for each key that names it. */
export function serviceDependenciesOf(layers: readonly ComposeNode[]): ServiceDependency[] {
  const ordered = valuesAt(layers, 'depends_on').flatMap((value) => [
    ...textsOf(itemsOf(value)).map((name): [string, boolean] => [name, true]),
    ...entriesOf(value).map(([name, entry]): [string, boolean] => [name, isRequired(entry)]),
  ]);
  const others = references.flatMap(([key, service]) => {
    const values = valuesAt(layers, key);
    // lists are merged, a text takes the place of the one in an earlier layer
    const inForce = values.at(-1)?.kind === 'list' ? values : values.slice(-1);
    const texts = textsOf(inForce.flatMap(itemsOf));
    const names = new Set(texts.flatMap((text) => service.exec(text) ?? []));
    return [...names].map((name) => ({ key, name, required: true }));
  });
  // the last layer that names a service decides
  return [...[...new Map(ordered)].map(([name, required]) => ({ key: 'depends_on', name, required })), ...others];
}

function isRequired(entry: ComposeNode): boolean {
  return !/^false$/i.test(textOf(valueAt(entry, 'required')) ?? '');
}
