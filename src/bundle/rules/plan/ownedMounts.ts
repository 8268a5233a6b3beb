import type { RefusedFault } from '../../../../machines/refusals.ts';
import { printable } from '../../../protocol/printable.ts';
import { normalizeBundlePath } from '../compose/document/bundlePath.ts';
import {
  entriesOf,
  itemsOf,
  textOf,
  valueAt,
  valuesAt,
  type ComposeFile,
  type ComposeNode,
} from '../compose/document/composeNode.ts';
import { activeServiceLayers } from '../compose/document/profiles.ts';
import { replacedMounts } from '../compose/document/serviceLayers.ts';

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
  files: readonly ComposeFile[];
  manifest: { profiles: readonly string[] };
  releaseFiles: ReadonlySet<string>;
}

/** Files of the bundle that are mounted where a program insists on another owner or mode than they have. */
export function ownedMountNotices({ files, manifest, releaseFiles }: MountedBundle): RefusedFault[] {
  const replaced = replacedMounts(files);
  return [...activeServiceLayers(files, manifest.profiles)].flatMap(([service, layers]) => {
    const mounts = valuesAt(layers, 'volumes').flatMap(itemsOf);
    const all = [
      ...mounts.filter((mount) => !replaced.has(mount)).flatMap(mountOf),
      ...(['configs', 'secrets'] as const).flatMap((kind) => contentsMounted(kind, layers, files)),
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
