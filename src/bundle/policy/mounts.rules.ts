import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, type Scalar, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { hasReadOnlyMode, hasVariableMode, isReadOnlyMount } from '../compose/mounts.rules.ts';
import { bindSource, writableSource } from './bundlePaths.rules.ts';
import { labels } from './environment.rules.ts';
import {
  type Finding,
  refuse,
  refusePrivilege,
  refuseVariable,
  type Validator,
  type ValueLocation,
} from './finding.rules.ts';
import { size } from './quantities.rules.ts';
import {
  booleanText,
  type KeyTable,
  listOf,
  literalMatching,
  mappingOf,
  numberText,
  oneOfKinds,
  privilegedUnless,
  text,
  textMatching,
  textValidator,
} from './validators.rules.ts';

const volumeName = literalMatching(
  /^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/,
  'the name of a volume, or a path that starts with "./"',
);

const shortMount = textValidator((mount, value, location) => {
  if (mount.includes('$')) return refuseVariable(value, location, `${printable(mount)} is decided by a variable`);
  const [source = mount, target, modes, ...more] = mount.split(':');
  const isAnonymous = target === undefined && source.startsWith('/');
  if (isAnonymous) return [];
  if (!target?.startsWith('/') || more.length > 0) {
    const form = 'SOURCE:/TARGET[:MODE] or /TARGET';
    return refuse(value, location, { message: `${printable(mount)} must be ${form}`, cure: `write ${form}` });
  }
  if (/^[a-zA-Z]$/.test(source)) {
    const message = `${printable(mount)} is a Windows drive to compose`;
    return refuse(value, location, { message, cure: 'use a longer name' });
  }
  const isBind = /^[./~]/.test(source);
  const from = { ...value, text: source };
  const isWritableBind = isBind && !hasReadOnlyMode(modes);
  return [
    ...(isBind ? bindSource(isWritableBind) : volumeName)(from, location),
    ...(isWritableBind && isMounted(value, location) ? writableSource('mount it with :ro')(from, location) : []),
    ...validateModes(modes, value, location),
  ];
});

/** Mount propagation is a privilege; a mode that compose would ignore is refused. */
function validateModes(modes: string | undefined, value: Scalar, location: ValueLocation): Finding[] {
  return (modes?.split(',') ?? []).flatMap((mode) => {
    if (/^(ro|rw|z|Z|nocopy|cached|delegated|consistent|private|rprivate)$/.test(mode)) return [];
    const message = `mode ${printable(mode)}`;
    if (/^r?(shared|slave)$/.test(mode)) return refusePrivilege(value, location, message);
    return refuse(value, location, { message, cure: 'write ro or rw, or leave it out' });
  });
}

/** False for a mount that another compose file, or a service that extends, replaces for all services. */
function isMounted(mount: ComposeNode, { facts }: ValueLocation): boolean {
  return !facts.replacedMounts.has(mount);
}

const target = textMatching(/^\//, 'an absolute path in the container');
const selinux = textMatching(/^[zZ]$/, 'z or Z');
const commonMountKeys: KeyTable = { type: text, target, read_only: booleanText, consistency: text };

const bindOptions = mappingOf({
  propagation: privilegedUnless(/^r?private$/),
  create_host_path: booleanText,
  recursive: text,
  selinux,
});

const longBindMount: Validator = (value, location) => {
  const source = valueAt(value, 'source');
  const isWritable = !isReadOnlyMount(value);
  const isOpenBelow = textOf(valueAt(valueAt(value, 'bind') ?? value, 'recursive')) === 'writable';
  const keys = { ...commonMountKeys, source: bindSource(isWritable || isOpenBelow), bind: bindOptions };
  const isKept = source !== undefined && isWritable && !hasVariableMode(value) && isMounted(value, location);
  return [
    ...mappingOf(keys)(value, location),
    ...(isKept ? writableSource('set read_only: true')(source, location) : []),
  ];
};

/** A part of a volume: an engine that is too old for it mounts the whole volume, and says nothing. */
const subpath = textValidator((_, value, location) =>
  location.facts.mountsSubpaths === false
    ? refuse(value, location, {
        message: 'is ignored by this engine, which would mount the whole volume',
        cure: 'give the service its own volume, or install Docker 26 or newer on the host',
      })
    : [],
);

/** Validators of the long form, by `type`. */
const mountTypeValidators: Readonly<Record<string, Validator>> = {
  bind: longBindMount,
  volume: mappingOf({
    ...commonMountKeys,
    source: volumeName,
    bind: mappingOf({ selinux }),
    volume: mappingOf({ nocopy: booleanText, subpath, labels }),
  }),
  tmpfs: mappingOf({ ...commonMountKeys, tmpfs: mappingOf({ size, mode: numberText }) }),
  npipe: (value, location) => refusePrivilege(value, location, 'of type npipe'),
  cluster: (value, location) => refusePrivilege(value, location, 'of type cluster'),
};

const longMount: Validator = (value, location) => {
  const type = textOf(valueAt(value, 'type')) ?? '';
  if (type.includes('$')) return refuseVariable(value, location, `type ${printable(type)}`);
  const validate = Object.hasOwn(mountTypeValidators, type) ? mountTypeValidators[type] : undefined;
  if (!validate)
    return refuse(value, location, {
      message: `type ${printable(type)} must be ${Object.keys(mountTypeValidators).join(', ')}`,
      cure: 'write bind, volume or tmpfs',
    });
  const missing = ['target', ...(type === 'bind' ? ['source'] : [])].filter((key) => !valueAt(value, key));
  return [
    ...validate(value, location),
    ...missing.flatMap((key) => refuse(value, location, { message: `lacks ${key}`, cure: `add ${key}` })),
  ];
};

/** `volumes` of a service. */
export const mounts: Validator = listOf(oneOfKinds({ scalar: shortMount, map: longMount }));

const tmpfsOption = /^(ro|rw|noexec|exec|nosuid|nodev|noatime|(size|mode|uid|gid|nr_inodes)=[\w%]+)$/;

/** A size that is a variable, whose value is checked in the rendered model. */
const variableSize = /(?<=(?:^|[:,])size=)\$(?:\w+|\{\w+(?::?[-?+][^${}:,]*)?\})(?=,|$)/g;

/** Options of a tmpfs that are privileges: they allow device files or setuid programs. */
function privilegedTmpfsOptions(options: string): string[] {
  return options.split(',').filter((option) => option !== '' && !tmpfsOption.test(option));
}

/** `o` of a volume's `driver_opts`. */
export const tmpfsOptions = textValidator((options, value, location) =>
  privilegedTmpfsOptions(options.replaceAll(variableSize, '0')).flatMap((option) =>
    refusePrivilege(value, location, printable(option)),
  ),
);

const tmpfsMount = textValidator((mount, value, location) => {
  const [path = mount, options = '', ...more] = mount.replaceAll(variableSize, '0').split(':');
  if (!path.startsWith('/') || more.length > 0) {
    return refusePrivilege(value, location, `${printable(mount)} is not /PATH[:OPTIONS]`);
  }
  return path.includes('$')
    ? refusePrivilege(value, location, printable(path))
    : privilegedTmpfsOptions(options).flatMap((option) => refusePrivilege(value, location, printable(option)));
});

/** `tmpfs` of a service: options that allow device files or setuid programs are privileges. */
export const tmpfs: Validator = oneOfKinds({ scalar: tmpfsMount, list: listOf(tmpfsMount) });
