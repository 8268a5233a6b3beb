import { itemsOf, isText, textOf, valueAt, type ComposeNode, type Scalar } from '../document/composeNode.ts';
import { contentSections } from '../document/contentAccess.ts';
import { locatePath } from '../policy/bundlePaths.ts';
import { refuseWithoutValue, type Finding, type ValueLocation } from '../policy/finding.ts';

/**
 * Owners and modes of configs and secrets that compose does not give them. It mounts a file as it is, and copies the content of a
 * variable or of `content` with the mode, and with the owner only where the container has no user: else the file belongs to that.
 */
export function contentAccessFindings(service: ComposeNode, name: string, location: ValueLocation): Finding[] {
  return contentSections.flatMap((section) =>
    itemsOf(valueAt(service, section)).flatMap((reference) => {
      const source = textOf(valueAt(reference, 'source'));
      const file = location.facts.contentAccess?.mounted.get(`${section} ${source ?? ''}`);
      const at = { ...location, keyPath: section };
      return file === undefined ? copiedFindings(reference, name, at) : mountedFindings(reference, file, at);
    }),
  );
}

/** Every permission that reading needs. */
const readable = 0o444;
const executable = 0o111;

function mountedFindings(reference: ComposeNode, file: string, at: ValueLocation): Finding[] {
  const instead = at.keyPath === 'secrets' ? 'environment' : 'content or environment';
  const owners = ['uid', 'gid'].flatMap((key) => {
    const problem = {
      message: `is refused on a host with compose: a file of the bundle is mounted with the owner that it has on the host, and ${key} changes nothing`,
      cure: `leave ${key} out where everybody may read it, or give the content by ${instead}`,
    };
    return writtenAt(reference, key).flatMap((node) => refuseWithoutValue(node, keyAt(at, key), problem));
  });
  const modes = writtenAt(reference, 'mode').flatMap((node) => {
    const mode = modeOf(node.text);
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

/** Whether a mounted file has what a mode allows. A mount is never writable. */
function isModeOf(file: string, mode: number, { facts }: ValueLocation): boolean {
  if ((mode & readable) !== readable) return false;
  if ((mode & executable) === 0) return true;
  const place = locatePath(file, facts);
  return place.kind === 'variable' || ('path' in place && facts.executables?.has(place.path) !== false);
}

function copiedFindings(reference: ComposeNode, name: string, at: ValueLocation): Finding[] {
  const user = at.facts.contentAccess?.users.get(name);
  if (user === undefined || user.includes('$')) return [];
  const [uid = '', gid = null] = user === 'root' ? ['0', '0'] : user.split(':');
  const faults = [...writtenAt(reference, 'uid').filter(isNot(uid)), ...writtenAt(reference, 'gid').filter(isNot(gid))];
  const [first] = faults;
  if (first === undefined) return [];
  const key = writtenAt(reference, 'uid').includes(first) ? 'uid' : 'gid';
  return refuseWithoutValue(first, keyAt(at, key), {
    message:
      'is refused on a host with compose: the file belongs to the user of the container, since the service has one',
    cure: `leave uid and gid out (the file belongs to root, and its mode says who reads it), or write the numbers of user: UID:GID there`,
  });
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

/** A mode as compose reads it: octal after a zero, else decimal; null for a variable. */
export function modeOf(text: string): number | null {
  const octal = /^0o?([0-7]+)$/.exec(text)?.[1];
  if (octal !== undefined) return parseInt(octal, 8);
  return /^(\d+|0x[\da-f]+)$/i.test(text) ? Number(text) : null;
}

function keyAt(location: ValueLocation, key: string): ValueLocation {
  return { ...location, keyPath: `${location.keyPath}.${key}` };
}
