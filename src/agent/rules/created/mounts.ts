import { listOf, nameOf, partOf, textOf, textsOf, type Part } from './rendered.ts';

/** A mount as the model gives it. */
export interface Mount {
  target: string;
  /** Null for an anonymous volume, which is the service's own. */
  what: string | null;
  writable: boolean;
  propagation: string[];
  /** Compose may give a config or secret in another way than by a mount. */
  sure: boolean;
}

/** What a mount is read from. */
interface Sources {
  /** The whole model. */
  root: Part;
  services: Part;
  /** The release's directory. */
  dir: string;
}

/** The mounts of a service, those of others that it takes over by `volumes_from` included; null where they cannot be known. */
export function mountsOf(name: string, sources: Sources, above: string[] = []): Mount[] | null {
  const service = partOf(sources.services[name]);
  const own = [
    ...listOf(service['volumes']).flatMap((mount) => mountOf(partOf(mount), sources)),
    ...filesOf(service, sources),
  ];
  const taken: Mount[] = [];
  for (const from of textsOf(service['volumes_from'])) {
    const [source = '', mode] = from.split(':');
    if (source === 'container') return null;
    const theirs = above.includes(source) ? [] : mountsOf(source, sources, [...above, name]);
    if (theirs === null) return null;
    taken.push(...theirs.map((mount) => ({ ...mount, sure: false, writable: mount.writable && mode !== 'ro' })));
  }
  const targets = new Set(own.map(({ target }) => target));
  return [...own, ...taken.filter(({ target }) => !targets.has(target))];
}

function mountOf(mount: Part, { root, dir }: Sources): Mount[] {
  const type = textOf(mount['type']);
  if (type === 'tmpfs') return [];
  const given = textOf(mount['source']);
  const source = type === 'bind' ? ownPath(given, dir) : nameOf(root, given, partOf(root['volumes'])[given]);
  const stated = textOf(partOf(mount['bind'])['propagation']).replace(/^r?private$/, '');
  // of a path above the engine's own directory the engine makes a slave
  const implied = type === 'bind' && !source.startsWith('./') ? ['rslave'] : [];
  return [
    {
      target: cleanPath(textOf(mount['target'])),
      what: given === '' ? null : `${type} ${source}`,
      writable: mount['read_only'] !== true,
      propagation: stated === '' ? implied : [stated],
      sure: given !== '',
    },
  ];
}

/** Configs and secrets that are files, and the engine's socket. */
function filesOf(service: Part, { root, dir }: Sources): Mount[] {
  const bound = (kind: 'configs' | 'secrets', base: string) =>
    listOf(service[kind]).flatMap((reference) => {
      const { source, target } = typeof reference === 'string' ? { source: reference, target: '' } : partOf(reference);
      const file = textOf(partOf(partOf(root[kind])[textOf(source)])['file']);
      const name = textOf(target) || textOf(source);
      const at = name.startsWith('/') ? cleanPath(name) : cleanPath(`${base}/${name}`);
      return file === '' ? [] : [fileMount(at, ownPath(file, dir), false)];
    });
  const socket = '/var/run/docker.sock';
  const api = service['use_api_socket'] === true ? [fileMount(socket, socket, true)] : [];
  return [...bound('configs', '/'), ...bound('secrets', '/run/secrets'), ...api];
}

function fileMount(target: string, source: string, writable: boolean): Mount {
  return { target, what: `bind ${source}`, writable, propagation: [], sure: false };
}

/** `./path` for a path in the release. */
function ownPath(path: string, dir: string): string {
  const clean = cleanPath(path);
  return clean === dir || clean.startsWith(`${dir}/`) ? `./${clean.slice(dir.length + 1)}` : clean;
}

/** A path as the engine tells it. */
function cleanPath(path: string): string {
  if (!path.startsWith('/')) return path;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
