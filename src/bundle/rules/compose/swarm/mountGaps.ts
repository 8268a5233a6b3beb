import { isReadOnlyMount } from '../document/mountMode.ts';
import { textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { locatePath, type PathLocation } from '../policy/bundlePaths.ts';
import type { PolicyFacts } from '../policy/finding.ts';
import { keyGap, nodesAt, type KeyGap } from '../effect/keyGap.ts';

/** Mounts of the bundle whose place in it fulfils a condition. */
const bundleMounts =
  (isRefused: (place: PathLocation, mount: ComposeNode) => boolean): KeyGap['find'] =>
  (service, facts) =>
    nodesAt(service, ['volumes[]']).filter((mount) => {
      const place = placeOf(mount, facts);
      return place !== null && isRefused(place, mount);
    });

/** Where a bind mount's source is; null for any other mount. */
function placeOf(mount: ComposeNode, facts: PolicyFacts): PathLocation | null {
  if (mount.kind === 'map')
    return textOf(valueAt(mount, 'type')) === 'bind' ? locatePath(textOf(valueAt(mount, 'source')) ?? '', facts) : null;
  const [source = ''] = (textOf(mount) ?? '').split(':');
  return /^[./~]/.test(source) ? locatePath(source, facts) : null;
}

const leaveOut = 'leave it out';

/** What a swarm cannot mount. */
export const mountGaps: readonly KeyGap[] = [
  {
    key: 'volumes[].source',
    why: 'other nodes do not have the directories of the bundle',
    cure: 'mount each file of it that is needed',
    example: 'volumes: ["./conf:/etc/app:ro"]',
    find: bundleMounts(({ kind }) => kind === 'directory'),
  },
  {
    key: 'volumes[].read_only',
    why: 'a file of the bundle is the same on every node, so no service may write to it',
    cure: 'mount it with :ro',
    example: 'volumes: ["./conf/web.conf:/etc/web.conf"]',
    find: bundleMounts(({ kind }, mount) => kind === 'file' && !isReadOnlyMount(mount)),
  },
  keyGap({
    key: 'volumes[].volume.subpath',
    why: 'a node with an older engine would mount the whole volume',
    cure: 'give the service a volume of its own',
    example: 'volumes: [{type: volume, source: data, target: /x, volume: {subpath: a}}]',
  }),
  {
    key: 'tmpfs',
    why: 'a swarm leaves its options out',
    cure: 'write it under volumes, with type: tmpfs and tmpfs: {size: 64m}',
    example: 'tmpfs: ["/run:size=64m"]',
    find: (service) => [...nodesAt(service, ['tmpfs[]']).filter((mount) => textOf(mount)?.includes(':') === true)],
  },
  ...[
    ['volumes[].bind.recursive', 'volumes: [{type: bind, source: /a, target: /x, bind: {recursive: enabled}}]'],
    ['volumes[].bind.selinux', 'volumes: [{type: bind, source: /a, target: /x, bind: {selinux: z}}]'],
    ['volumes[].tmpfs.mode', 'volumes: [{type: tmpfs, target: /x, tmpfs: {mode: 0700}}]'],
    ['volumes[].volume.labels', 'volumes: [{type: volume, target: /x, volume: {labels: {a: b}}}]'],
  ].map(([key = '', example = '']) => keyGap({ key, why: 'a swarm leaves it out', cure: leaveOut, example })),
];
