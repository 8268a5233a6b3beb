import { variablesOf } from './uses.ts';
import type { Opened } from './finding.ts';
import { lastOf, layersOf } from './layers.ts';
import { isReadOnlyMount } from './mounts.ts';
import { insidePath } from './paths.ts';
import { at, entriesOf, itemsOf, textOf, type ComposeFile, type Tree } from './tree.ts';

/** One service as compose would run it; texts are raw and may hold variables. */
export interface Service {
  name: string;
  image: string | null;
  /** A service with profiles is not started by itself. */
  profiles: string[];
  /** Null where a variable decides it. */
  replicas: number | null;
}

/** One volume of the project, not an external one; `name` is null where compose makes it of project and key. */
export interface Volume {
  key: string;
  name: string | null;
  driver: string;
  driver_opts: Record<string, string>;
}

/** What the files of a bundle bring together, later files winning over earlier ones. */
export function servicesOf(files: readonly ComposeFile[]): {
  services: Service[];
  images: string[];
  volumes: Volume[];
} {
  const services = [...layersOf(files)].map(([name, layers]) => ({
    name,
    image: textOf(lastOf(layers, 'image')),
    profiles: [
      ...new Set(layers.flatMap((layer) => itemsOf(at(layer, 'profiles')).flatMap((one) => textOf(one) ?? []))),
    ],
    replicas: replicasOf(layers),
  }));
  const images = [...new Set(services.flatMap(({ image }) => image ?? []))];
  return { services, images, volumes: volumesOf(files) };
}

/** What reaches a service without standing in its own text: paths of the bundle it reads or mounts, and variables. */
export interface Sources {
  files: string[];
  /** Inline `content` of its configs and secrets, as written. */
  texts: string[];
  /** Names whose values come through the `content` or `environment` of a config or secret. */
  variables: string[];
}

/** For each service the content that compose does not look at when it decides whether to recreate it. */
export function contentSources(files: readonly ComposeFile[]): Map<string, Sources> {
  return new Map([...layersOf(files)].map(([name, layers]) => [name, sourcesOf(layers, files)]));
}

/** Paths of the env files and label files, whose texts `judgeCompose` has to see. */
export function textFilesOf(files: readonly ComposeFile[]): string[] {
  const layers = [...layersOf(files).values()].flat();
  return [...new Set(layers.flatMap(readPaths))];
}

/** Paths of the env files and label files that a layer of a service names. */
export function readPaths(layer: Tree): string[] {
  return readByCompose(layer).flatMap(pathOf);
}

/** Every entry of an `env_file` that leads into the bundle, with whether its file is taken as it stands. */
export function envFilesOf(files: readonly ComposeFile[]): { path: string; isRaw: boolean }[] {
  const entries = [...layersOf(files).values()].flat().flatMap((layer) => itemsOf(at(layer, 'env_file')));
  return entries.flatMap((entry) =>
    pathOf(entry).map((path) => ({ path, isRaw: textOf(at(entry, 'format')) === 'raw' })),
  );
}

/** Paths of the bundle that compose or the engine opens by name. */
export function openedPaths(files: readonly ComposeFile[]): Opened {
  const layers = [...layersOf(files).values()].flat();
  const all = [...contentSources(files).values()].flatMap((sources) => sources.files);
  return { all, byCompose: layers.flatMap(readPaths) };
}

/** Paths of the bundle that a container may write to. */
export function writablePaths(files: readonly ComposeFile[]): string[] {
  const mounts = [...layersOf(files).values()].flat().flatMap((layer) => itemsOf(at(layer, 'volumes')));
  return [
    ...new Set(
      mounts
        .filter((mount) => !isReadOnlyMount(mount))
        .flatMap(bindOf)
        .flatMap(pathOf),
    ),
  ].sort();
}

function replicasOf(layers: readonly Tree[]): number | null {
  const written = textOf(lastOf(layers, 'scale') ?? lastOf(layers, 'deploy', 'replicas'));
  if (written === null) return 1;
  return /^\d+$/.test(written) ? Number(written) : null;
}

function volumesOf(files: readonly ComposeFile[]): Volume[] {
  const roots = files.map(({ root }) => at(root, 'volumes'));
  const names = [...new Set(roots.flatMap((volumes) => entriesOf(volumes).map(([key]) => key)))];
  return names.flatMap((key) => {
    const layers = roots.flatMap((volumes) => at(volumes, key) ?? []);
    const external = lastOf(layers, 'external');
    if (external && !/^(false|no|off|n)$/i.test(textOf(external) ?? '')) return [];
    const options = layers.flatMap((layer) => entriesOf(at(layer, 'driver_opts')));
    return {
      key,
      name: textOf(lastOf(layers, 'name')),
      driver: textOf(lastOf(layers, 'driver')) || 'local',
      driver_opts: Object.fromEntries(options.map(([option, value]) => [option, textOf(value) ?? ''])),
    };
  });
}

function sourcesOf(layers: readonly Tree[], files: readonly ComposeFile[]): Sources {
  const granted = (['configs', 'secrets'] as const).flatMap((kind) => {
    const names = layers.flatMap((layer) =>
      itemsOf(at(layer, kind)).flatMap((one) => textOf(at(one, 'source') ?? one) ?? []),
    );
    return files.flatMap(({ root }) => names.flatMap((name) => at(root, kind, name) ?? []));
  });
  const mounted = layers.flatMap((layer) => itemsOf(at(layer, 'volumes'))).flatMap(bindOf);
  const paths = [
    ...granted.flatMap((one) => at(one, 'file') ?? []),
    ...layers.flatMap(readByCompose),
    ...mounted,
  ].flatMap(pathOf);
  const texts = granted.flatMap((one) => textOf(at(one, 'content')) ?? []);
  const variables = [
    ...texts.flatMap((text) => variablesOf(text).uses.map(({ name }) => name)),
    ...granted.flatMap((one) => textOf(at(one, 'environment')) ?? []),
  ];
  return { files: [...new Set(paths)].sort(), texts, variables: [...new Set(variables)].sort() };
}

function readByCompose(layer: Tree): Tree[] {
  return [...itemsOf(at(layer, 'env_file')), ...itemsOf(at(layer, 'label_file'))];
}

function bindOf(mount: Tree): readonly Tree[] {
  const [source = ''] = (textOf(mount) ?? '').split(':', 1);
  if (mount.kind === 'scalar') return source.startsWith('.') ? [{ ...mount, text: source }] : [];
  return textOf(at(mount, 'type')) === 'bind' ? itemsOf(at(mount, 'source')) : [];
}

/** The path of the bundle that a text or the `path` of an entry names; none where it leads elsewhere. */
function pathOf(entry: Tree): string[] {
  const path = textOf(at(entry, 'path') ?? entry) ?? '';
  const inside = /^[/~]|\$/.test(path) ? null : insidePath(path);
  return inside ? [inside] : [];
}
