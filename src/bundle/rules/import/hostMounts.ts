import { printable } from '../../../protocol/printable.ts';
import { isUnseen, normalizeHostPath } from '../compose/policy/hostPaths.ts';
import { becomeVolume, type BindMount, type MountContext } from './bindMounts.ts';
import { looksLikeFile } from './directoryUse.ts';
import { leaveUndecided, tellChange } from './importWork.ts';
import { newMap, newScalar, setValue, type MapNode } from './yamlNodes.ts';

/**
 * A mount of a path of the host. Clocks are harmless to read. What is there for a while, and a directory in somebody's home,
 * becomes a named volume. Other paths stay: the host's policy permits them or not.
 */
export function replaceHostMount(mount: BindMount, context: MountContext): void {
  if (mount.source.startsWith('~')) replaceHomeMount(mount, context);
  else if (isUnseen(normalizeHostPath(mount.source))) replaceUnseenMount(mount, context);
  else keepHostMount(mount, context);
}

function replaceHomeMount(mount: BindMount, context: MountContext): void {
  const { work, place } = context;
  const { source } = mount;
  const home = work.register.openValueOf('HOME');
  if (home !== null && /^~(\/|$)/.test(source)) {
    const written = `${home}${source.slice(1)}`.replaceAll('$', '$$$$');
    mount.setSource(written);
    tellChange(work, place, [`${printable(source)} is written out as ${printable(written)}`, 'a bundle has no home']);
  } else if (/^~\/+[^/]/.test(source) && !looksLikeFile(source)) {
    const why = 'a bundle has no home: copy what is there into the volume, or give --variable HOME=PATH';
    becomeVolume(mount, { path: source, why }, context);
  } else leaveUndecided(work, place, [`${printable(source)} is in somebody's home`, homeCure]);
}

const homeCure = 'write an absolute path, or give --variable HOME=PATH';

/** Where the agent has directories of its own. */
function replaceUnseenMount(mount: BindMount, context: MountContext): void {
  const path = normalizeHostPath(mount.source);
  if (/^\/dev\/shm(\/|$)/.test(path)) {
    becomeVolume(
      mount,
      { path, why: 'no host permits it; its content is in memory as before', keys: tmpfs() },
      context,
    );
  } else if (/^(\/var)?\/tmp(\/|$)/.test(path) && !looksLikeFile(path) && !/\/\.[^/]+$/.test(path)) {
    becomeVolume(mount, { path, why: 'no host permits it; only containers see what is in it now' }, context);
  } else leaveRefused(mount, context);
}

/** Keys of a volume in memory. */
function tmpfs(): MapNode {
  const [keys, options] = [newMap(), newMap()];
  for (const key of ['type', 'device']) setValue(options, key, newScalar('tmpfs'));
  setValue(keys, 'driver_opts', options);
  return keys;
}

function keepHostMount(mount: BindMount, context: MountContext): void {
  const { work, place } = context;
  const isClock = /^\/etc\/(localtime|timezone)$/.test(mount.source);
  if (isClock && !mount.isReadOnly) {
    mount.makeReadOnly();
    tellChange(work, place, [`${mount.source} is mounted read-only`, 'so a bundle may have it anywhere']);
  }
  if (/^r?slave$/.test(mount.propagation ?? '')) {
    mount.dropPropagation();
    const what = `the propagation ${mount.propagation ?? ''} of ${printable(mount.source)} is left out`;
    tellChange(work, place, [what, 'no host permits it; what is mounted below it later does not appear']);
  }
  if (neverPermitted.test(mount.source)) leaveRefused(mount, context);
}

/** The host itself, and where the engine and deployd keep what is theirs. */
const neverPermitted = /^\/+$|^\/var\/lib\/(docker|containers|containerd|deployd)(\/|$)|^\/etc\/deployd(\/|$)/;

function leaveRefused({ source }: BindMount, { work, place }: MountContext): void {
  leaveUndecided(work, place, [`${printable(source)} is permitted by no host`, 'take the mount out']);
}
