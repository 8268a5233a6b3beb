import type { RefusedFault } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import { normalizeBundlePath } from '../archive/archiveEntries.rules.ts';
import {
  type ComposeFile,
  type ComposeNode,
  entriesOf,
  itemsOf,
  textOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { replacedMounts } from '../compose/services.rules.ts';
import { type ImageAccounts, placeOf, type ReadService } from './bundleToStart.rules.ts';
import type { ComparableRelease } from './changes.rules.ts';
import { type EngineImages, plannedPulls } from './images.rules.ts';
import type { ComposeProject } from '../compose/composeProject.rules.ts';

/** The images of services with a `user` that is a name, where an apply pulls no other image in their place. */
export function imagesWithNamedUsers(
  bundle: ComparableRelease,
  services: readonly ReadService[],
  images: EngineImages,
): string[] {
  const staying = plannedPulls(bundle, images).filter(({ pull }) => pull === 'local');
  const named = services.filter(({ text }) => namesOf(text('user')).some((each) => each.name !== ''));
  return staying.flatMap(({ image, services: users }) =>
    named.some(({ name }) => users.includes(name)) ? [image] : [],
  );
}

/** Users and groups that an image lacks, so that the engine starts no container of it. */
export function namedUserFaults(
  { files, services }: { files: readonly ComposeFile[]; services: readonly ReadService[] },
  accounts: ReadonlyMap<string, ImageAccounts>,
): RefusedFault[] {
  return services.filter(readsUsersOfImage).flatMap(({ name: service, node, text }) => {
    const image = text('image');
    const known = accounts.get(image);
    if (known === undefined) return [];
    return namesOf(text('user'))
      .filter(({ kind, name }) => name !== '' && !known[kind].has(name))
      .map(({ kind, name }) => ({
        text: `service ${printable(service)}: ${kind === 'users' ? 'user' : 'group'} ${printable(name)} is not in its image ${printable(image)}${placeOf(files, node('user'))}`,
        cure: 'write its number, or one that the image has',
      }));
  });
}

/** The user and the group of a key `user`; '' for a number. */
function namesOf(user: string): { kind: 'users' | 'groups'; name: string }[] {
  const [name = '', group = ''] = user.split(':');
  const nameIn = (text: string) => (/^\d*$/.test(text) ? '' : text);
  return [
    { kind: 'users', name: nameIn(name) },
    { kind: 'groups', name: nameIn(group) },
  ];
}

/** False where something is mounted over the files of users, which some engines read then. */
function readsUsersOfImage({ layers }: ReadService): boolean {
  const mounts = ['volumes', 'configs', 'secrets', 'tmpfs'].flatMap((key) => valuesAt(layers, key).flatMap(itemsOf));
  return !mounts.some((mount) => {
    const text = textOf(mount);
    const target = text === null ? textOf(valueAt(mount, 'target')) : (text.split(':')[1] ?? text);
    return /^\/etc(\/(passwd|group))?\/?$/.test(target ?? '');
  });
}

/** Paths in containers, and what programs demand of the file there. A mounted file belongs to the agent's user and has mode 0644. */
const demands: readonly [path: RegExp, demand: string][] = [
  [/^\/etc\/(cron\.[^/]+\/|crontab$|crontabs\/)|^\/var\/spool\/cron\//, 'cron takes only files of root'],
  [/^\/etc\/(anacrontab$|logrotate\.(conf$|d\/))/, 'logrotate takes only files of root'],
  [/^\/etc\/sudoers($|\.d\/)/, 'sudo takes only files of root'],
  [/\/\.ssh\/|^\/etc\/ssh\/ssh_host_[^/]*_key$/, 'ssh takes only files of its own user, keys with mode 0600'],
  [
    /^\/(usr\/share|etc)\/(file|metric|heart|audit|packet|winlog)beat\/.*\.yml$/,
    'Beats take only files of root or of their own user (--strict.perms=false lifts that)',
  ],
  [/\/\.(pgpass|netrc|msmtprc|fetchmailrc|mylogin\.cnf|erlang\.cookie)$/, 'its program takes only mode 0600'],
  [/\/\.gnupg\//, 'gpg takes only files of its own user'],
  [
    /(^|\/)(server|postgres(ql)?)\.key$/,
    'PostgreSQL takes only keys of its own user or of root, with mode 0600 or 0640',
  ],
  [/(^|\/)(mongo[^/]*[._-])?key-?file$/i, 'MongoDB takes only key files of its own user, with mode 0400 or 0600'],
  [/(^|\/)(munge\.key|monitrc)$/, 'its program takes only mode 0600'],
];

const cure = 'let the command copy it first, as the user that needs it, or write it as `content` of a config';

interface MountedBundle {
  project: ComposeProject;
  releaseFiles: ReadonlySet<string>;
}

/** Files of the bundle that are mounted where a program insists on another owner or mode than they have. */
export function ownedMountNotices({ project, releaseFiles }: MountedBundle): RefusedFault[] {
  const replaced = replacedMounts(project);
  return [...project.active].flatMap(([service, layers]) => {
    const mounts = valuesAt(layers, 'volumes').flatMap(itemsOf);
    const all = [
      ...mounts.filter((mount) => !replaced.has(mount)).flatMap(mountOf),
      ...(['configs', 'secrets'] as const).flatMap((kind) => contentsMounted(kind, layers, project.files)),
    ];
    return all.flatMap((mount) => noticesOf(mount, { service, releaseFiles }));
  });
}

interface Mount {
  /** A path in the bundle. */
  source: string;
  target: string;
}

function mountOf(mount: ComposeNode): Mount[] {
  const [written = '', place = ''] = textOf(mount)?.split(':') ?? [];
  const isBind = mount.kind === 'scalar' ? written.startsWith('.') : textOf(valueAt(mount, 'type')) === 'bind';
  if (!isBind) return [];
  return inBundle(textOf(valueAt(mount, 'source')) ?? written, textOf(valueAt(mount, 'target')) ?? place);
}

/** Compose mounts the files of configs and secrets, and copies their other contents. */
function contentsMounted(
  kind: 'configs' | 'secrets',
  layers: readonly ComposeNode[],
  files: readonly ComposeFile[],
): Mount[] {
  const defined = new Map(files.flatMap(({ root }) => entriesOf(valueAt(root, kind))));
  return valuesAt(layers, kind)
    .flatMap(itemsOf)
    .flatMap((reference) => {
      const name = textOf(valueAt(reference, 'source') ?? reference) ?? '';
      const file = textOf(valueAt(defined.get(name), 'file'));
      const target = textOf(valueAt(reference, 'target')) ?? name;
      const base = kind === 'configs' ? '/' : '/run/secrets/';
      return file === null ? [] : inBundle(file, target.startsWith('/') ? target : `${base}${target}`);
    });
}

function inBundle(written: string, target: string): Mount[] {
  const source = /^[/~]|\$/.test(written) ? null : normalizeBundlePath(written);
  return source ? [{ source, target: target.replace(/\/+$/, '') }] : [];
}

function noticesOf(
  { source, target }: Mount,
  { service, releaseFiles }: { service: string; releaseFiles: ReadonlySet<string> },
): RefusedFault[] {
  const below = [...releaseFiles].filter((path) => path.startsWith(`${source}/`));
  const places = below.length === 0 ? [target] : below.map((path) => `${target}${path.slice(source.length)}`);
  return demands.flatMap(([path, demand]) => {
    const place = places.find((each) => path.test(each));
    if (place === undefined) return [];
    const text = `service ${printable(service)}: ${printable(place)} of the bundle: ${demand}, and it belongs to the agent's user with mode 0644`;
    return { text, cure };
  });
}
