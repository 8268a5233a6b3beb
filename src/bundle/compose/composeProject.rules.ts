import { normalizeBundlePath } from '../archive/archiveEntries.rules.ts';
import {
  type ComposeFile,
  type ComposeNode,
  entriesOf,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from './composeNode.rules.ts';
import { isReadOnlyMount } from './mounts.rules.ts';
import {
  activeServices,
  effectiveValue,
  type MergedFiles,
  mergedFilesOf,
  replacedMounts,
  type ServiceLayers,
} from './services.rules.ts';
import { variablesOf } from './variables.rules.ts';

/** One service as compose would run it; texts are as written and may hold variables. */
export interface ComposeService {
  name: string;
  image: string | null;
  /** Null when the number contains a variable. */
  replicas: number | null;
}

/** One volume of the project that is not external; `name` is null when compose derives it from project and key. */
export interface ComposeVolume {
  key: string;
  name: string | null;
  driver: string;
  driver_opts: Record<string, string>;
}

/** The compose files of a bundle as one project: read once, and asked by all that want to know something of it. */
export interface ComposeProject extends MergedFiles<ComposeFile> {
  /** The chosen profiles. */
  readonly profiles: readonly string[];
  /** The services that run with them. */
  readonly active: ServiceLayers;
  /** The active services that have containers: without services with no replicas. */
  readonly started: ServiceLayers;
  /** The services that compose runs. */
  readonly running: readonly ComposeService[];
  /** The images of the active services, without duplicates. */
  readonly images: readonly string[];
  /** All volumes of the project that are not external. */
  readonly volumes: readonly ComposeVolume[];
  /** For each service the content that compose ignores when it decides whether to recreate the service. */
  readonly sources: ReadonlyMap<string, ContentSources>;
}

/** Reads compose files as compose merges them: later files override earlier ones. */
export function composeProjectOf(files: readonly ComposeFile[], profiles: readonly string[] = []): ComposeProject {
  const merged = mergedFilesOf(files);
  const active = activeServices(merged.services, profiles);
  const running = [...active].map(([name, layers]) => ({
    name,
    image: textOf(effectiveValue(layers, 'image')),
    replicas: replicasOf(layers),
  }));
  const idle = new Set(running.flatMap(({ name, replicas }) => (replicas === 0 ? name : [])));
  return {
    ...merged,
    profiles,
    active,
    started: new Map([...active].filter(([name]) => !idle.has(name))),
    running,
    images: [...new Set(running.flatMap(({ image }) => image ?? []))],
    volumes: volumesOf(files),
    sources: new Map([...merged.services].map(([name, layers]) => [name, sourcesOf(layers, files)])),
  };
}

/** The image of each service of the files, as written; a service without one is left out. */
export function writtenImages({ services }: MergedFiles): Map<string, string> {
  const images = [...services].map(([name, layers]) => [name, textOf(effectiveValue(layers, 'image'))] as const);
  return new Map(images.filter((entry): entry is [string, string] => entry[1] !== null));
}

/**
 * Content that a service receives from outside its own text: paths of the bundle that it reads or mounts, and
 * variables.
 */
export interface ContentSources {
  files: string[];
  /** Inline `content` of its configs and secrets, as written. */
  texts: string[];
  /** Names of variables that the `content` or `environment` of a config or secret uses. */
  variables: string[];
}

/** Paths of the env files and label files; `validateComposePolicy` needs their texts. */
export function envAndLabelFiles({ services }: MergedFiles): string[] {
  const layers = [...services.values()].flat();
  return [...new Set(layers.flatMap(envAndLabelPathsOf))];
}

/** Paths of the env files and label files that a layer of a service names. */
export function envAndLabelPathsOf(layer: ComposeNode): string[] {
  return envAndLabelEntries(layer).flatMap(bundlePathOf);
}

/** Every `env_file` in the bundle, and whether compose reads it without interpolation (`format: raw`). */
export function envFilesOf({ services }: MergedFiles): { path: string; isRaw: boolean }[] {
  const layers = [...services.values()].flat();
  const entries = valuesAt(layers, 'env_file').flatMap(itemsOf);
  return entries.flatMap((entry) =>
    bundlePathOf(entry).map((path) => ({ path, isRaw: textOf(valueAt(entry, 'format')) === 'raw' })),
  );
}

/** Paths of the bundle that compose or the engine opens by name. */
export interface OpenedPaths {
  /** All of them, including the files that the engine mounts. */
  readonly all: readonly string[];
  /** The env files and label files: their contents become environment variables and labels of containers. */
  readonly byCompose: readonly string[];
}

/** The opened paths of a bundle's compose files. */
export function openedPaths({ services, sources }: ComposeProject): OpenedPaths {
  return {
    all: [...sources.values()].flatMap(({ files }) => files),
    byCompose: [...services.values()].flat().flatMap(envAndLabelPathsOf),
  };
}

/** Paths of the bundle that a container may write to. */
export function writablePaths(project: ComposeProject): string[] {
  const layers = [...project.services.values()].flat();
  const replaced = replacedMounts(project);
  const mounts = valuesAt(layers, 'volumes').flatMap(itemsOf);
  return [
    ...new Set(
      mounts
        .filter((mount) => !isReadOnlyMount(mount) && !replaced.has(mount))
        .flatMap(bindSourceOf)
        .flatMap(bundlePathOf),
    ),
  ].sort();
}

function replicasOf(layers: readonly ComposeNode[]): number | null {
  const written = textOf(effectiveValue(layers, 'scale') ?? effectiveValue(layers, 'deploy', 'replicas'));
  if (written === null) return 1;
  return /^\d+$/.test(written) ? Number(written) : null;
}

function volumesOf(files: readonly ComposeFile[]): ComposeVolume[] {
  const roots = files.map(({ root }) => valueAt(root, 'volumes'));
  const names = [...new Set(roots.flatMap((volumes) => entriesOf(volumes).map(([key]) => key)))];
  return names.flatMap((key) => {
    const layers = valuesAt(roots, key);
    const external = effectiveValue(layers, 'external');
    if (external && !/^(false|no|off|n)$/i.test(textOf(external) ?? '')) return [];
    const options = valuesAt(layers, 'driver_opts').flatMap(entriesOf);
    return {
      key,
      name: textOf(effectiveValue(layers, 'name')),
      driver: textOf(effectiveValue(layers, 'driver')) || 'local',
      driver_opts: Object.fromEntries(options.map(([option, value]) => [option, textOf(value) ?? ''])),
    };
  });
}

function sourcesOf(layers: readonly ComposeNode[], files: readonly ComposeFile[]): ContentSources {
  const contents = (['configs', 'secrets'] as const).flatMap((kind) => {
    const references = valuesAt(layers, kind).flatMap(itemsOf);
    const names = textsOf(references.map((one) => valueAt(one, 'source') ?? one));
    return files.flatMap(({ root }) => names.flatMap((name) => valuesAt([root], kind, name)));
  });
  const bindSources = valuesAt(layers, 'volumes').flatMap(itemsOf).flatMap(bindSourceOf);
  const paths = [...valuesAt(contents, 'file'), ...layers.flatMap(envAndLabelEntries), ...bindSources].flatMap(
    bundlePathOf,
  );
  const texts = textsOf(valuesAt(contents, 'content'));
  const variables = [
    ...texts.flatMap((text) => variablesOf(text).uses.map(({ name }) => name)),
    ...textsOf(valuesAt(contents, 'environment')),
  ];
  return { files: [...new Set(paths)].sort(), texts, variables: [...new Set(variables)].sort() };
}

function envAndLabelEntries(layer: ComposeNode): ComposeNode[] {
  return [...valuesAt([layer], 'env_file'), ...valuesAt([layer], 'label_file')].flatMap(itemsOf);
}

function bindSourceOf(mount: ComposeNode): readonly ComposeNode[] {
  if (mount.kind !== 'scalar')
    return textOf(valueAt(mount, 'type')) === 'bind' ? itemsOf(valueAt(mount, 'source')) : [];
  const [source = mount.text] = mount.text.split(':', 1);
  return source.startsWith('.') ? [{ ...mount, text: source }] : [];
}

/** The bundle path that a text or the `path` of an entry names; none when it leads outside the bundle. */
function bundlePathOf(entry: ComposeNode): string[] {
  const path = textOf(valueAt(entry, 'path') ?? entry) ?? '';
  const inside = /^[/~]|\$/.test(path) ? null : normalizeBundlePath(path);
  return inside ? [inside] : [];
}
