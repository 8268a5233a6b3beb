import { printable } from '../../core/text.rules.ts';
import { normalizeBundlePath } from '../archive/archiveEntries.rules.ts';
import type { ComposeNode } from '../compose/composeNode.rules.ts';
import {
  type Finding,
  type PolicyFacts,
  refuse,
  refuseUnpermitted,
  refusePrivilege,
  refuseVariable,
  serviceOf,
  type Validator,
  type ValueLocation,
} from './finding.rules.ts';
import { hostPathOf } from './policyHost.rules.ts';
import { textValidator } from './validators.rules.ts';

/** Where a path of a compose file leads; `path` is normalised and relative to the release. */
export type PathLocation =
  { kind: 'file' | 'directory'; path: string } | { kind: 'root' | 'outside' | 'env' | 'absent' | 'variable' };

/** Resolves a path as compose does: relative to the project directory, with `~` as the agent's home. */
export function locatePath(written: string, { releaseFiles, directories, rendered }: PolicyFacts): PathLocation {
  const source = rendered ? relativeToRelease(written, rendered.dir) : written;
  if (source.includes('$')) return { kind: 'variable' };
  const path = /^[/~]/.test(source) ? null : normalizeBundlePath(source);
  if (path === null) return { kind: 'outside' };
  if (path === '') return { kind: 'root' };
  if (path === '.env') return { kind: 'env' };
  if (directories.has(path)) return { kind: 'directory', path };
  return releaseFiles.has(path) ? { kind: 'file', path } : { kind: 'absent' };
}

/** Compose makes the paths of a rendered model absolute; this undoes it for paths in the release. */
function relativeToRelease(path: string, dir: string): string {
  return path === dir || path.startsWith(`${dir}/`) ? `.${path.slice(dir.length)}` : path;
}

const locationFaults = {
  directory: 'is a directory',
  root: 'is the release itself, which holds the values of every secret',
  outside: 'is outside the bundle',
  env: 'is the rendered .env, which holds the values of every secret',
  absent: 'is not in the bundle',
  variable: 'is decided by a variable',
} as const;

/**
 * The source of a writable mount in the release, which is removed with the second next bundle, together with the files
 * that containers wrote. Content that is applied already may keep it.
 */
export function writableSource(cure: string): Validator {
  return textValidator((source, value, location) => {
    const target = locatePath(source, location.facts);
    if (!('path' in target)) return [];
    const message = `${printable(source)} is part of the bundle, and the container can write to it`;
    const whenApplied = openedByName(source, target, value, location);
    const forData = location.facts.rendered ? 'mount a named volume' : volumeInstead(source);
    return refuse(value, location, { message, cure: `${cure}, or for data ${forData}` }).map((each) => {
      return { ...each, whenApplied };
    });
  });
}

/**
 * A writable path that compose or the engine opens by name: a container could replace it by a link to any file of the host.
 * The same holds for an env file or label file, because those decide what containers get.
 */
function openedByName(
  source: string,
  { kind, path }: Extract<PathLocation, { path: string }>,
  value: ComposeNode,
  location: ValueLocation,
): Finding[] {
  const { openedPaths } = location.facts;
  if (kind === 'file' && openedPaths.byCompose.includes(path))
    return refusePrivilege(value, location, `${printable(source)} is what compose reads: mount it read-only`);
  const opened = openedPaths.all.find((each) => each.startsWith(`${path}/`));
  return opened === undefined
    ? []
    : refusePrivilege(
        value,
        location,
        `${printable(source)} holds ${printable(opened)}, which is opened by its name: mount it read-only`,
      );
}

const locationCures = {
  directory: 'name a file in it',
  root: 'mount what is needed of it, such as ./conf',
  outside: 'put it into the bundle and name it by a path that starts with "./"',
  env: 'name the variables one by one under environment',
  absent: 'put it into the bundle',
  variable: 'write the path out',
} as const;

const rewritableFault = 'is or holds a compose file, which a container could rewrite';

/** A file that compose reads: it must be in the bundle, whatever flags the bundle has. */
export const bundleFile: Validator = textValidator((source, value, location) => {
  const { kind } = locatePath(source, location.facts);
  if (kind === 'file') return [];
  return (
    otherForm(source, value, location) ??
    refuse(value, location, { message: `${printable(source)} ${locationFaults[kind]}`, cure: locationCures[kind] })
  );
});

/** The finding for a path that the bundle has in another Unicode form, which is another file for a host; null if it has not. */
function otherForm(source: string, value: ComposeNode, location: ValueLocation): Finding[] | null {
  const { releaseFiles, directories } = location.facts;
  const path = normalizeBundlePath(source) ?? '';
  const same = [...releaseFiles, ...directories].find((each) => each.normalize() === path.normalize());
  if (same === undefined || same === path) return null;
  const form = same === same.normalize() ? 'NFC' : 'NFD';
  const message = `${printable(source)} is in the bundle in another Unicode form (${form})`;
  return refuse(value, location, { message, cure: 'write its name in the same form in both' });
}

/**
 * The source of a bind mount. Outside the release it is a privilege over the host. The release's root, compose files and
 * missing paths are always refused; the engine would create a missing path as root.
 */
export function bindSource(isWritable: boolean): Validator {
  return textValidator((source, value, location) => {
    const target = locatePath(source, location.facts);
    const { kind } = target;
    if (kind === 'file' || kind === 'directory') {
      const holds = (file: string) => file === target.path || file.startsWith(`${target.path}/`);
      return location.facts.composeFiles.some(holds)
        ? refuse(value, location, {
            message: `${printable(source)} ${rewritableFault}`,
            cure: 'mount the other files alone',
          })
        : [];
    }
    const isDecided = kind === 'outside' || (kind === 'variable' && location.facts.rendered !== undefined);
    if (isDecided && isPlainHostPath(source)) return hostMount({ source, isWritable }, value, location);
    const message = `${printable(source)} ${locationFaults[kind]}`;
    if (kind === 'variable') return refuseVariable(value, location, message);
    const inOtherForm = kind === 'absent' ? otherForm(source, value, location) : null;
    if (inOtherForm !== null) return inOtherForm;
    if (kind === 'outside') return refusePrivilege(value, location, message);
    const cure = kind === 'absent' ? volumeCure(source) : locationCures[kind];
    return refuse(value, location, { message, cure });
  });
}

/** Data that no bundle has belongs in a named volume. */
function volumeCure(source: string): string {
  return `put it into the bundle, or ${volumeInstead(source)}`;
}

function volumeInstead(source: string): string {
  const [name] = /[a-zA-Z0-9][\w.-]+(?=\/*$)/.exec(source) ?? ['data'];
  return `write ${name} for it and name ${name} under the top-level volumes`;
}

/** Compose gives the engine a mount as `SOURCE:TARGET`, so no source with a colon is plain. */
export function isPlainHostPath(source: string): boolean {
  return source.startsWith('/') && !source.includes(':') && !source.split('/').includes('..');
}

/** Files of the host that every program may know, and that containers read only to show the time as it does. */
const timeFiles = ['/etc/localtime', '/etc/timezone'];

/** A path of the host; the engine's socket is a separate privilege. */
function hostMount(
  { source, isWritable }: { source: string; isWritable: boolean },
  value: ComposeNode,
  location: ValueLocation,
): Finding[] {
  const entry = hostPathOf(source);
  if (!isWritable && timeFiles.includes(entry)) return [];
  const message = `${printable(source)} ${locationFaults.outside}`;
  return location.facts.host.engineSockets.includes(entry)
    ? refuseUnpermitted(value, location, { permit: 'engine_socket', entry: serviceOf(location), message })
    : refuseUnpermitted(value, location, { permit: 'binds', entry, isWritable, message });
}
