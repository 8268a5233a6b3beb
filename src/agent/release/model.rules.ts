import type { NamesOutside } from '../../bundle/policy/policyHost.rules.ts';
import { isPrivatePropagation, normalizePath } from '../engine/createdContainer.rules.ts';

/** A mapping of compose's rendered model (`compose config --format json`). */
export type ModelObject = Readonly<Record<string, unknown>>;

/**
 * A string, number or boolean as text, with the doubled dollar signs of a rendered model undone; '' for any other
 * value.
 */
export function textOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.replaceAll('$$', '$') : '';
}

/** The items of a list as texts; empty for any other value. */
export function textsOf(value: unknown): string[] {
  return listOf(value).map(textOf);
}

/** A list; empty for any other value. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A mapping; empty for any other value. */
export function objectOf(value: unknown): ModelObject {
  return typeof value === 'object' && value !== null ? (value as ModelObject) : {};
}

/** The engine's name of a network or volume. */
export function engineNameOf(root: ModelObject, key: string, part: unknown): string {
  return textOf(objectOf(part)['name']) || `${textOf(root['name'])}_${key}`;
}

/** A mount of the rendered model. */
export interface ModelMount {
  target: string;
  /** `bind /etc`, `volume data`; null for an anonymous volume. */
  typeAndSource: string | null;
  isWritable: boolean;
  propagation: string[];
  /** The mounted subpath of the volume; '' for the whole volume. */
  subpath: string;
  /** False when compose may omit the mount: it can copy a config or secret instead. */
  isRequired: boolean;
}

/** The model in which mounts are looked up. */
interface MountSources {
  /** The whole model. */
  root: ModelObject;
  services: ModelObject;
  /** The release's directory. */
  dir: string;
}

/**
 * The mounts of a service, including mounts by `volumes_from`; null when they are unknown, because a container outside
 * the project provides them.
 */
export function modelMountsOf(name: string, sources: MountSources, visited: string[] = []): ModelMount[] | null {
  const service = objectOf(sources.services[name]);
  const own = [
    ...listOf(service['volumes']).flatMap((mount) => volumeMounts(objectOf(mount), sources)),
    ...contentMounts(service, sources),
  ];
  const inherited: ModelMount[] = [];
  for (const from of textsOf(service['volumes_from'])) {
    const [source = '', mode] = from.split(':');
    if (source === 'container') return null;
    const mounts = visited.includes(source) ? [] : modelMountsOf(source, sources, [...visited, name]);
    if (mounts === null) return null;
    inherited.push(
      ...mounts.map((mount): ModelMount => ({
        ...mount,
        isRequired: false,
        isWritable: mount.isWritable && mode !== 'ro',
      })),
    );
  }
  const targets = new Set(own.map(({ target }) => target));
  return [...own, ...inherited.filter(({ target }) => !targets.has(target))];
}

function volumeMounts(mount: ModelObject, { root, dir }: MountSources): ModelMount[] {
  const type = textOf(mount['type']);
  if (type === 'tmpfs') return [];
  const given = textOf(mount['source']);
  const source =
    type === 'bind' ? releasePathOf(given, dir) : engineNameOf(root, given, objectOf(root['volumes'])[given]);
  const stated = textOf(objectOf(mount['bind'])['propagation']);
  // the engine mounts a path above its own data directory as rslave
  const implied = type === 'bind' && !source.startsWith('./') ? ['rslave'] : [];
  return [
    {
      target: normalizePath(textOf(mount['target'])),
      typeAndSource: given === '' ? null : `${type} ${source}`,
      isWritable: mount['read_only'] !== true,
      propagation: isPrivatePropagation(stated) ? implied : [stated],
      subpath: textOf(objectOf(mount['volume'])['subpath']),
      isRequired: true,
    },
  ];
}

/** Configs and secrets that are files, and the engine's socket (`use_api_socket`). */
function contentMounts(service: ModelObject, { root, dir }: MountSources): ModelMount[] {
  const bound = (kind: 'configs' | 'secrets', base: string) =>
    listOf(service[kind]).flatMap((reference) => {
      const { source, target } =
        typeof reference === 'string' ? { source: reference, target: '' } : objectOf(reference);
      const file = textOf(objectOf(objectOf(root[kind])[textOf(source)])['file']);
      const name = textOf(target) || textOf(source);
      const at = normalizePath(name.startsWith('/') ? name : `${base}/${name}`);
      return file === '' ? [] : [fileMount(at, releasePathOf(file, dir), false)];
    });
  const socket = '/var/run/docker.sock';
  const api = service['use_api_socket'] === true ? [fileMount(socket, socket, true)] : [];
  return [...bound('configs', ''), ...bound('secrets', '/run/secrets'), ...api];
}

function fileMount(target: string, source: string, isWritable: boolean): ModelMount {
  return { target, typeAndSource: `bind ${source}`, isWritable, propagation: [], subpath: '', isRequired: false };
}

/** A path in the release becomes `./path`. */
function releasePathOf(path: string, dir: string): string {
  const clean = normalizePath(path);
  return clean === dir || clean.startsWith(`${dir}/`) ? `./${clean.slice(dir.length + 1)}` : clean;
}

/** Engine names of networks and volumes that must have been created by the project. */
export type ContestedNames = Readonly<Record<'networks' | 'volumes', readonly string[]>>;

/**
 * The names in a rendered model that something outside the project could occupy before compose creates the containers,
 * which would then use it: all names without the project's prefix. Names that already existed outside when the model
 * was validated are excluded, because they were permitted. Empty when the names outside are unknown.
 */
export function contestedNamesOf(root: ModelObject, outside: NamesOutside | null): ContestedNames {
  const namesOf = (kind: keyof ContestedNames) =>
    Object.entries(objectOf(root[kind]))
      .filter(([, part]) => objectOf(part)['external'] !== true)
      .map(([key, part]) => engineNameOf(root, key, part))
      .filter((name) => outside?.[kind].has(name) === false && !name.startsWith(`${textOf(root['name'])}_`));
  return { networks: namesOf('networks'), volumes: namesOf('volumes') };
}
