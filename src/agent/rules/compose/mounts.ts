import { printable } from '../../../protocol/printable.ts';
import { power, refuse, type Finding, type Judge, type Place } from './finding.ts';
import { labels } from './labels.ts';
import { size } from './quantities.ts';
import { bindSource, writableSource } from './paths.ts';
import { either, flag, keys, list, literal, number, onText, plain, powerUnless, text, type Table } from './shapes.ts';
import { at, textOf, type Scalar, type Tree } from './tree.ts';

const namedVolume = literal(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, 'the name of a volume, or a path that starts with "./"');

const shortMount = onText((mount, value, place) => {
  if (mount.includes('$')) return power(value, place, `${printable(mount)} is decided by a variable`);
  const [source = '', target, modes, ...more] = mount.split(':');
  const isAnonymous = target === undefined && source.startsWith('/');
  if (isAnonymous) return [];
  if (!target?.startsWith('/') || more.length > 0) {
    return refuse(value, place, `${printable(mount)} must be SOURCE:/TARGET[:MODE] or /TARGET`);
  }
  if (/^[a-zA-Z]$/.test(source)) {
    const cure = 'a Windows drive to compose, use a longer name';
    return refuse(value, place, `${printable(mount)}: ${cure}`);
  }
  const judgeSource = /^[./~]/.test(source) ? bindSource : namedVolume;
  const from = { ...value, text: source };
  const writable = judgeSource === bindSource && !isReadOnly(modes) ? writableSource(from, place) : [];
  return [...judgeSource(from, place), ...writable, ...judgeModes(modes, value, place)];
});

/** Whether a mount, in either form, is one that no container can write to. */
export function isReadOnlyMount(mount: Tree): boolean {
  const short = textOf(mount);
  if (short !== null) return isReadOnly(short.split(':')[2]);
  return /^(true|yes|on|y)$/i.test(textOf(at(mount, 'read_only')) ?? '');
}

function isReadOnly(modes = ''): boolean {
  const all = modes.split(',');
  return all.includes('ro') && !all.includes('rw');
}

/** Propagation to the host is power; what compose would drop unread is refused. */
function judgeModes(modes: string | undefined, value: Scalar, place: Place): Finding[] {
  return (modes?.split(',') ?? []).flatMap((mode) => {
    if (/^(ro|rw|z|Z|nocopy|cached|delegated|consistent|private|rprivate)$/.test(mode)) return [];
    const tell = /^r?(shared|slave)$/.test(mode) ? power : refuse;
    return tell(value, place, `mode ${printable(mode)}`);
  });
}

const target = plain(/^\//, 'an absolute path in the container');
const selinux = plain(/^[zZ]$/, 'z or Z');
const anyMount: Table = { type: text, target, read_only: flag, consistency: text };

const bindKeys = keys({
  ...anyMount,
  source: bindSource,
  bind: keys({
    propagation: powerUnless(/^r?private$/),
    create_host_path: flag,
    recursive: text,
    selinux,
  }),
});

const longBind: Judge = (value, place) => {
  const source = at(value, 'source');
  return [...bindKeys(value, place), ...(source && !isReadOnlyMount(value) ? writableSource(source, place) : [])];
};

/** The long form, by `type`. */
const mountTypes: Readonly<Record<string, Judge>> = {
  bind: longBind,
  volume: keys({
    ...anyMount,
    source: namedVolume,
    bind: keys({ selinux }),
    volume: keys({ nocopy: flag, subpath: text, labels }),
  }),
  tmpfs: keys({ ...anyMount, tmpfs: keys({ size, mode: number }) }),
  npipe: (value, place) => power(value, place, 'of type npipe'),
  cluster: (value, place) => power(value, place, 'of type cluster'),
};

const longMount: Judge = (value, place) => {
  const type = textOf(at(value, 'type')) ?? '';
  if (type.includes('$')) return power(value, place, `type ${printable(type)}`);
  const judge = Object.hasOwn(mountTypes, type) ? mountTypes[type] : undefined;
  if (!judge) return refuse(value, place, `type ${printable(type)} must be ${Object.keys(mountTypes).join(', ')}`);
  const missing = ['target', ...(type === 'bind' ? ['source'] : [])].filter((key) => !at(value, key));
  return [...judge(value, place), ...missing.flatMap((key) => refuse(value, place, `lacks ${key}`))];
};

/** `volumes` of a service. */
export const mounts: Judge = list(either({ scalar: shortMount, map: longMount }));

const tmpfsOption = /^(ro|rw|noexec|exec|nosuid|nodev|noatime|(size|mode|uid|gid|nr_inodes)=\w+)$/;

const tmpfsMount = onText((mount, value, place) => {
  const [path = '', options = ''] = mount.split(':', 2);
  if (!path.startsWith('/') || mount.split(':').length > 2) {
    return power(value, place, `${printable(mount)} is not /PATH[:OPTIONS]`);
  }
  const odd = options.split(',').filter((option) => option !== '' && !tmpfsOption.test(option));
  return path.includes('$')
    ? power(value, place, printable(path))
    : odd.flatMap((option) => power(value, place, printable(option)));
});

/** `tmpfs` of a service: options that let device files or setuid programs work are power. */
export const tmpfs: Judge = either({ scalar: tmpfsMount, list: list(tmpfsMount) });
