import { itemsOf, isText, textOf, valueAt, type ComposeNode, type Scalar } from '../document/composeNode.ts';
import { contentSections, effectiveReferences } from '../document/contentAccess.ts';
import { effectiveValue, type MergedService } from '../document/serviceLayers.ts';
import { locatePath } from '../policy/bundlePaths.ts';
import { refuseWithoutValue, type Finding, type ValueLocation } from '../policy/finding.ts';
import { printable } from '../../../../protocol/printable.ts';

/**
 * Owners and modes of configs and secrets that compose does not give them. It mounts a file as it is, and copies the content of a
 * variable or of `content` with the mode, and with the owner only where the container has no user; otherwise the file belongs to that.
 */
export function contentAccessFindings(service: ComposeNode, location: ValueLocation): Finding[] {
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
        message: 'is no mode that compose reads',
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

/** What a reference asks for of the owner of copied content that a container with a user does not give; null where it gets it. */
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

/** A mode as compose reads it: of a number octal after a zero, else decimal; of a text octal. Null for a variable, and for no mode. */
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
