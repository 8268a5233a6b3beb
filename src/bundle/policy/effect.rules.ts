import { printable } from '../../core/text.rules.ts';
import {
  type ComposeNode,
  entriesOf,
  isText,
  itemsOf,
  type Scalar,
  textOf,
  valueAt,
} from '../compose/composeNode.rules.ts';
import { contentSections, effectiveReferences } from '../compose/mounts.rules.ts';
import { effectiveValue, type MergedService } from '../compose/services.rules.ts';
import { locatePath } from './bundlePaths.rules.ts';
import { type Finding, type PolicyFacts, refuseWithoutValue, type ValueLocation } from './finding.rules.ts';
import { pullIntervalMs } from './quantities.rules.ts';
import { isFalse } from './validators.rules.ts';

/**
 * The keys of a compose file, or compose's rendered model, that would have no effect on a host with compose; no flag lifts it.
 * Content that is applied already may keep it.
 */
export function findingsWithoutEffect(root: ComposeNode, location: ValueLocation): Finding[] {
  const ofServices = entriesOf(valueAt(root, 'services')).flatMap(([name, service]) => {
    const at = { ...location, owner: `service ${printable(name)}` };
    return [...gapFindings(service, { gaps: composeGaps, where }, at), ...contentAccessFindings(service, at)];
  });
  const all = [...ofServices, ...gapFindings(root, { gaps: composeFileGaps, where }, location)];
  return all.map((finding) => ({ ...finding, whenApplied: [] }));
}

const where = ' on a host with compose';

/** A major and a minor version. */
type Version = readonly [major: number, minor: number];

/** Programs of a host that leave a key out without an error. */
interface LeftOutBy {
  /** The first compose with which the key takes effect. */
  compose?: Version | undefined;
  /** The first version of Docker's API with which it does, and the engine that has it. */
  api?: Version | undefined;
  engine?: string;
}

type Row = LeftOutBy & { key: string; cure: string; example: string; isHarmless?: (text: string) => boolean };

/**
 * Keys of a service that older programs accept and leave out, or refuse. The versions of compose are documented or
 * measured.
 */
const rows: readonly Row[] = [
  {
    ...{ key: 'annotations', compose: [2, 26], api: [1, 43], engine: 'Docker 24' },
    ...{ cure: 'leave it out', example: 'annotations: {run.oci.handler: krun}' },
  },
  {
    ...{ key: 'deploy.resources.reservations.devices[].options', compose: [2, 40], cure: 'leave it out' },
    example: 'deploy: {resources: {reservations: {devices: [{capabilities: [gpu], options: {a: b}}]}}}',
  },
  {
    ...{ key: 'gpus', compose: [2, 30], cure: 'write deploy.resources.reservations.devices' },
    example: 'gpus: [{driver: nvidia, count: 1, capabilities: [gpu]}]',
  },
  {
    ...{ key: 'networks.*.driver_opts', compose: [2, 28], cure: 'leave it out' },
    example: 'networks: {n: {driver_opts: {com.docker.network.endpoint.sysctls: net.ipv4.conf.IFNAME.log_martians=1}}}',
  },
  {
    ...{ key: 'networks.*.gw_priority', compose: [2, 33], api: [1, 48], engine: 'Docker 28' },
    ...{ cure: 'leave it out', example: 'networks: {n: {gw_priority: 1}}', isHarmless: (text) => Number(text) === 0 },
  },
  {
    ...{ key: 'networks.*.interface_name', compose: [2, 36], api: [1, 49], engine: 'Docker 28.1' },
    ...{ cure: 'leave it out', example: 'networks: {n: {interface_name: eth9}}' },
  },
  {
    ...{ key: 'post_start', compose: [2, 30], cure: 'do it in the image' },
    example: 'post_start: [{command: [touch, /started]}]',
  },
  {
    ...{ key: 'pre_stop', compose: [2, 30], cure: 'do it in the image' },
    example: 'pre_stop: [{command: [touch, /stopped]}]',
  },
  {
    ...{ key: 'pull_policy', compose: [2, 34], cure: 'write missing or always', example: 'pull_policy: daily' },
    isHarmless: (text) => pullIntervalMs(text) === null,
  },
  {
    ...{ key: 'pull_refresh_after', compose: [2, 34], cure: 'leave it out', example: 'pull_refresh_after: 24h' },
  },
  {
    ...{ key: 'storage_opt', compose: [2, 26], cure: 'leave it out' },
    example: 'storage_opt: {size: 1g}',
  },
  {
    ...{ key: 'volumes[].bind.recursive', compose: [2, 40], api: [1, 44], engine: 'Docker 25' },
    ...{ cure: 'leave it out', isHarmless: (text) => text === 'enabled' },
    example: 'volumes: [{type: bind, source: ./conf, target: /x, read_only: true, bind: {recursive: disabled}}]',
  },
];

/** The keys outside services that would have no effect. */
export const composeFileGaps: readonly KeyGap[] = [
  versionGap({
    ...{ key: 'networks.*.enable_ipv4', compose: [2, 33], api: [1, 48], engine: 'Docker 28' },
    ...{ cure: 'leave it out', isHarmless: (text) => !isFalse.test(text) },
    example: 'networks: {a: {enable_ipv4: false, enable_ipv6: true}}',
  }),
  versionGap({
    ...{ key: 'networks.*.ipam.options', compose: [5, 0], cure: 'leave it out' },
    example: 'networks: {a: {ipam: {options: {b: c}}}}',
  }),
];

const examples = { source: 'source: "./conf:x", target: /x', target: 'source: ./conf, target: "/x:y"' };

/** Compose since 2.40, at the latest, cannot start such a mount; a tmpfs it hands over in another form. */
function mountsWithColon(service: ComposeNode, key: 'source' | 'target'): ComposeNode[] {
  const types = key === 'source' ? ['bind'] : ['bind', 'volume'];
  const mounts = nodesAt(service, ['volumes[]']).filter((mount) =>
    types.includes(textOf(valueAt(mount, 'type')) ?? ''),
  );
  const written = mounts.flatMap((mount) => valueAt(mount, key) ?? []);
  return written.filter((node) => (textOf(node) ?? '').replace(/\$\{[^}]*\}/g, '').includes(':'));
}

/** The keys that would have no effect for a service on a host with compose. */
export const composeGaps: readonly KeyGap[] = [
  ...rows.map(versionGap),
  ...[
    ['cpu_count', 'write cpus', 'cpu_count: 2'],
    ['cpu_percent', 'write cpus', 'cpu_percent: 50'],
  ].map(([key = '', cure = '', example = '']) =>
    keyGap({ key, why: 'only Windows has it', cure, example }, (text) => text === '' || text === '0'),
  ),
  ...(['source', 'target'] as const).map((key) => ({
    ...{ key: `volumes[].${key}`, why: 'newer versions of compose write a mount with colons between its parts' },
    ...{ cure: 'choose a path without a colon', example: `volumes: [{type: bind, ${examples[key]}, read_only: true}]` },
    find: (service: ComposeNode, { rendered }: PolicyFacts) =>
      rendered === undefined ? mountsWithColon(service, key) : [],
  })),
  {
    ...{ key: 'mac_address', why: 'compose before 2.40 leaves it out with Docker 25 or newer' },
    ...{ cure: 'write networks: {default: {mac_address: …}}', example: 'mac_address: 02:42:ac:11:00:02' },
    find: (service, { host, engineApi }) => {
      const isLost = isBefore(host.composeVersion, [2, 40]) && !isBefore(host.composeVersion, [2, 21]);
      return isLost && engineApi !== undefined && !isBefore(engineApi, [1, 44])
        ? nodesAt(service, ['mac_address'])
        : [];
    },
  },
  {
    ...{ key: 'deploy.restart_policy.max_attempts', why: 'an engine counts attempts only on failure' },
    ...{ cure: 'write condition: on-failure', example: 'deploy: {restart_policy: {condition: any, max_attempts: 3}}' },
    find: (service, { mergedServices }) => {
      const nodes = nodesAt(service, ['deploy', 'restart_policy', 'max_attempts']);
      return nodes
        .filter((node) => !/^0*$/.test(textOf(node) ?? '0'))
        .filter((node) =>
          (mergedServices.get(service) ?? []).some(({ layers }) => {
            if (effectiveValue(layers, 'deploy', 'restart_policy', 'max_attempts') !== node) return false;
            const condition = textOf(effectiveValue(layers, 'deploy', 'restart_policy', 'condition')) ?? 'any';
            return !condition.includes('$') && !['on-failure', 'none'].includes(condition);
          }),
        );
    },
  },
  {
    ...{ key: 'deploy.placement.max_replicas_per_node', why: 'this host would run more of them' },
    ...{ cure: 'lower deploy.replicas', example: 'deploy: {replicas: 2, placement: {max_replicas_per_node: 1}}' },
    find: (service, { mergedServices }) =>
      nodesAt(service, ['deploy', 'placement', 'max_replicas_per_node']).filter(
        (node) =>
          isText(node) &&
          Number(node.text) > 0 &&
          (mergedServices.get(service) ?? []).some(({ layers }) => {
            const replicas = effectiveValue(layers, 'scale') ?? effectiveValue(layers, 'deploy', 'replicas');
            const most = effectiveValue(layers, 'deploy', 'placement', 'max_replicas_per_node');
            return most === node && Number(textOf(replicas) ?? '1') > Number(node.text);
          }),
      ),
  },
];

function versionGap({ key, cure, example, isHarmless, ...leftOutBy }: Row): KeyGap {
  const { compose, api, engine } = leftOutBy;
  const needed = [...(compose ? [`compose ${compose.join('.')}`] : []), ...(engine ? [engine] : [])].join(' and ');
  const gap = keyGap(
    { key, example, why: `only ${needed} or newer do what it says`, cure: `${cure}, or give the host ${needed}` },
    isHarmless,
  );
  return {
    ...gap,
    find: (owner, facts) => (isLeftOut({ compose, api }, facts) ? gap.find(owner, facts).filter(isNotEmpty) : []),
  };
}

function isLeftOut({ compose, api }: LeftOutBy, { host, engineApi }: PolicyFacts): boolean {
  return (
    (compose !== undefined && isBefore(host.composeVersion, compose)) || (api !== undefined && isBefore(engineApi, api))
  );
}

function isNotEmpty(node: ComposeNode): boolean {
  if (node.kind === 'scalar') return true;
  return node.kind === 'list' ? node.items.length > 0 : entriesOf(node).length > 0;
}

/** False for an unknown version. */
function isBefore(version: Version | null | undefined, [major, minor]: Version): boolean {
  if (version === null || version === undefined) return false;
  return version[0] < major || (version[0] === major && version[1] < minor);
}

/**
 * Owners and modes of configs and secrets that compose does not give them. It mounts a file unchanged. It copies the
 * content of a variable or of `content` with the mode, and with the owner only if the container has no user; otherwise
 * the file belongs to that user.
 */
function contentAccessFindings(service: ComposeNode, location: ValueLocation): Finding[] {
  const { mountedContents, mergedServices } = location.facts;
  return contentSections.flatMap((section) =>
    itemsOf(valueAt(service, section)).flatMap((reference) => {
      const file = mountedContents.get(`${section} ${textOf(valueAt(reference, 'source')) ?? ''}`);
      const at = { ...location, keyPath: section };
      const unread = writtenAt(reference, 'mode').flatMap((node) => unreadMode(node, at));
      if (unread.length > 0) return unread;
      if (file !== undefined) return mountedFindings(reference, file, at);
      const users = (mergedServices.get(service) ?? []).filter(({ layers }) =>
        effectiveReferences(layers, section).includes(reference),
      );
      return copiedFindings(reference, users, at);
    }),
  );
}

/** The first compose that reads a text as an octal number. Older ones take it for a decimal one. */
const readsTextAsOctal = 34;

/** A mode that versions of compose read differently, or not at all. */
function unreadMode(node: Scalar, at: ValueLocation): Finding[] {
  if (at.facts.rendered) return [];
  const [major, minor] = at.facts.host.composeVersion ?? [2, readsTextAsOctal];
  const isText = node.isQuoted === true || node.text.includes('$');
  if (isText && major === 2 && minor < readsTextAsOctal)
    return refuseWithoutValue(node, keyAt(at, 'mode'), {
      message: `is refused: compose before 2.${readsTextAsOctal} reads a mode in quotes, or one from a variable, as a decimal number`,
      cure: 'write the number without quotes, such as 0440, or give the host a newer compose',
    });
  return node.text.includes('$') || modeOf(node.text, isText) !== null
    ? []
    : refuseWithoutValue(node, keyAt(at, 'mode'), {
        message: 'is not a mode that compose reads',
        cure: 'write it as an octal number without quotes, such as 0440',
      });
}

/** Every permission that reading needs. */
const readable = 0o444;
const executable = 0o111;

function mountedFindings(reference: ComposeNode, file: string, at: ValueLocation): Finding[] {
  const instead = at.keyPath === 'secrets' ? 'environment' : 'content or environment';
  const owners = ownersOf(reference).flatMap(({ key, node }) => {
    if (isOwnerIdle(reference, node)) return [];
    const problem = {
      message: `is refused on a host with compose: a file of the bundle is mounted with the owner that it has on the host, and ${key} changes nothing`,
      cure: `leave ${key} out where everybody may read it, or give the content by ${instead}`,
    };
    return refuseWithoutValue(node, keyAt(at, key), problem);
  });
  const modes = writtenAt(reference, 'mode').flatMap((node) => {
    const mode = modeOf(node.text, node.isQuoted);
    if (mode === null || isModeOf(file, mode, at)) return [];
    const problem = {
      message:
        'is refused on a host with compose: a file of the bundle is mounted as 0644, or 0755 where it is executable, and mode changes nothing',
      cure: `write 0444 or leave mode out, make the file executable in the bundle for 0555, or give the content by ${instead}`,
    };
    return refuseWithoutValue(node, keyAt(at, 'mode'), problem);
  });
  return [...owners, ...modes];
}

/** The keys that ask for the owner of a reference. */
export function ownersOf(reference: ComposeNode): { key: 'uid' | 'gid'; node: Scalar }[] {
  return (['uid', 'gid'] as const).flatMap((key) => writtenAt(reference, key).map((node) => ({ key, node })));
}

/** Whether root is the owner that a mounted file does not get, though everybody may read it and nobody may write it. */
export function isOwnerIdle(reference: ComposeNode, owner: Scalar): boolean {
  const [mode] = writtenAt(reference, 'mode');
  const bits = mode === undefined ? readable : modeOf(mode.text, mode.isQuoted);
  return /^0+$/.test(owner.text) && bits !== null && (bits & readable) === readable;
}

/** Whether a mounted file has what a mode allows. A mount is never writable. */
function isModeOf(file: string, mode: number, { facts }: ValueLocation): boolean {
  if ((mode & readable) !== readable) return false;
  if ((mode & executable) === 0) return true;
  const place = locatePath(file, facts);
  return place.kind === 'variable' || ('path' in place && facts.executables?.has(place.path) !== false);
}

function copiedFindings(reference: ComposeNode, users: readonly MergedService[], at: ValueLocation): Finding[] {
  const found = users.flatMap(({ name, layers }) => {
    const lost = lostOwner(reference, textOf(effectiveValue(layers, 'user')) ?? '');
    return lost === null ? [] : [{ name, lost }];
  });
  const [first] = found;
  if (first === undefined) return [];
  const other = at.owner === `service ${printable(first.name)}` ? '' : ` of service ${printable(first.name)}`;
  return refuseWithoutValue(first.lost.node, keyAt(at, first.lost.key), {
    message: `is refused on a host with compose: the file belongs to the user of the container${other}, since the service has one`,
    cure: `leave uid and gid out (the file belongs to root, and its mode says who reads it), or write the numbers of user: UID:GID there`,
  });
}

/** The owner of copied content in a reference that a container with a user does not give; null if the file gets it. */
export function lostOwner(reference: ComposeNode, user: string): ReturnType<typeof ownersOf>[number] | null {
  if (user === '' || user.includes('$')) return null;
  const [uid = '', gid = null] = user === 'root' ? ['0', '0'] : user.split(':');
  const isLost = { uid: isNot(uid), gid: isNot(gid) };
  return ownersOf(reference).find(({ key, node }) => isLost[key](node)) ?? null;
}

/** True for a number that is not this one, `null` and names included: only the image says what number they are. */
const isNot =
  (id: string | null) =>
  ({ text }: Scalar) =>
    !text.includes('$') && (id === null || !/^\d+$/.test(id) || Number(text) !== Number(id));

function writtenAt(reference: ComposeNode, key: string): Scalar[] {
  const node = valueAt(reference, key);
  return isText(node) && node.text !== '' ? [node] : [];
}

/**
 * A mode as compose reads it: of a number octal after a zero, else decimal; of a text octal. Null for a variable, and
 * for no mode.
 */
export function modeOf(text: string, isText = false): number | null {
  if (isText) return /^\+?[0-7]+$/.test(text) ? parseInt(text, 8) : null;
  const number = text.replaceAll('_', '').replace(/^\+/, '');
  const octal = /^0o?([0-7]+)$/.exec(number)?.[1];
  if (octal !== undefined) return parseInt(octal, 8);
  return /^(0|[1-9]\d*|0x[\da-f]+)$/i.test(number) ? Number(number) : null;
}

function keyAt(location: ValueLocation, key: string): ValueLocation {
  return { ...location, keyPath: `${location.keyPath}.${key}` };
}

/** A key that would have no effect where a bundle is to run. */
export interface KeyGap {
  /** As in the compose specification, below the service or the file. */
  key: string;
  /** Why not. */
  why: string;
  cure: string;
  /** A value that is refused, with its key. */
  example: string;
  /** The values in a service or file that are refused. */
  find: (owner: ComposeNode, facts: PolicyFacts) => readonly ComposeNode[];
}

/** A key that is refused with any value, or with any but a harmless one. */
export function keyGap(row: Omit<KeyGap, 'find'>, isHarmless: (text: string) => boolean = () => false): KeyGap {
  return {
    ...row,
    find: (owner) => nodesAt(owner, row.key.split('.')).filter((node) => !isHarmless(textOf(node) ?? 'any')),
  };
}

/** The values at a path of keys, in which `*` is any key and `key[]` each item of a list. */
export function nodesAt(node: ComposeNode, [first, ...rest]: readonly string[]): ComposeNode[] {
  if (first === undefined) return [node];
  const name = first.replace('[]', '');
  const found = entriesOf(node).flatMap(([key, value]) => (name === '*' || name === key ? [value] : []));
  return found.flatMap((value) => (first === name ? [value] : itemsOf(value))).flatMap((value) => nodesAt(value, rest));
}

/** The findings of gaps in a service or a file; `where` follows "is refused". */
export function gapFindings(
  owner: ComposeNode,
  { gaps, where }: { gaps: readonly KeyGap[]; where: string },
  location: ValueLocation,
): Finding[] {
  return gaps.flatMap(({ key, why, cure, find }) =>
    find(owner, location.facts)
      .filter((node) => !isText(node) || node.text !== '')
      .flatMap((node) => {
        const problem = { message: `is refused${where}: ${why}`, cure };
        return refuseWithoutValue(node, { ...location, keyPath: key }, problem);
      }),
  );
}
