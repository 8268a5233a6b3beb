import { printable } from '../../core/text.rules.ts';
import { isUnseen, normalizeHostPath } from '../policy/policyHost.rules.ts';
import {
  bring,
  bringFile,
  change,
  type Effect,
  freeName,
  type ImportWork,
  isKeyFile,
  joinPath,
  leaveUndecided,
  type NamedPart,
  partsOf,
  type Place,
  type TreeFile,
} from './importWork.rules.ts';
import { type Part, listAt, partAt, removeKeys, textAt } from './model.rules.ts';

interface Mount extends Part {
  type: string;
  source?: string;
  target: string;
  read_only?: boolean;
}

/** A bind mount, and where it stands. */
interface Bind {
  mount: Mount;
  source: string;
  /** The source as reports show it. */
  shown: string;
  service: NamedPart;
  place: Place;
  work: ImportWork;
}

function bindsOf(work: ImportWork): Bind[] {
  return partsOf(work).flatMap((service) =>
    listAt<Mount>(service.part, 'volumes').flatMap((mount) => {
      const { source, type } = mount;
      const place = { owner: service.owner, key: 'volumes' };
      return type === 'bind' && source !== undefined
        ? [{ mount, source, shown: printable(source), service, place, work }]
        : [];
    }),
  );
}

/** The path in the project that a relative source names. */
function projectPathOf({ source }: Bind): string {
  return joinPath('.', source);
}

function isOfProject({ source }: Bind): boolean {
  return !/^[/~]|\$/.test(source);
}

/** Changes the mount of a service at a place in its container, which is the same in each model. */
function changeMount({ mount: { target }, work, place }: Bind, told: [string, string], effect: Effect): void {
  change(work, place, told, (service, model) => {
    for (const mount of listAt<Mount>(service, 'volumes')) if (mount.target === target) effect(mount, model);
  });
}

function mountReadOnly(bind: Bind, why: string): void {
  changeMount(bind, [`${bind.shown} is mounted read-only`, why], (mount) => (mount['read_only'] = true));
}

/** Takes out the mount of a service at a place in its container, and adds items under another key. */
function replaceMount(service: Part, { target }: Mount, key: string, items: readonly Part[]): void {
  service['volumes'] = listAt<Mount>(service, 'volumes').filter((one) => one.target !== target);
  if (items.length > 0) service[key] = [...listAt(service, key), ...items];
  if (listAt(service, 'volumes').length === 0) removeKeys(service, 'volumes');
}

/** Mounts device files by `devices`, unless other mounts are below them. */
export function replaceDeviceMounts(work: ImportWork): void {
  for (const { mount, source, place } of bindsOf(work)) {
    const { target } = mount;
    if (!/^\/dev\/(?!shm(\/|$))[^$]+$/.test(source) || target.includes('$')) continue;
    const told: [string, string] = [`${printable(`${source}:${target}`)} is under devices now`, 'it is a device file'];
    change(work, place, told, (service) =>
      replaceMount(service, mount, 'devices', [{ source, target, permissions: 'rwm' }]),
    );
  }
}

/** Whether compose can copy a file of the project into the container at this place, and nothing may write to it there. */
function maySupply(path: string, target: string, bind: Bind): boolean {
  const { work, service } = bind;
  if (service.part['read_only'] === true || !/^\/[^$]*[^/$]$/.test(target)) return false;
  if (isWrittenAsWritable(bind) || isKnownToBeWritten(path, target)) return false;
  const text = work.tree.textOf(path) ?? '\0';
  const others = targetsOf(service).filter((other) => other !== bind.mount.target);
  const isInMount = others.some((other) => target.startsWith(`${other}/`));
  return !isInMount && !/[\0\ufffd]/.test(text) && text.length < maxSecretCharacters;
}

/** A variable has at most 131 071 bytes. */
const maxSecretCharacters = 30_000;

function targetsOf({ part }: NamedPart): string[] {
  const inMemory = listAt(part, 'tmpfs').map((text) => String(text).replace(/:.*/, ''));
  return [...listAt<Mount>(part, 'volumes').map(({ target }) => target), ...inMemory];
}

/** Whether the project says `rw`, which compose does not show. */
function isWrittenAsWritable({ mount, work: { texts } }: Bind): boolean {
  const written = [...texts.values()].flatMap((text) => text.split(`:${mount.target}:`).slice(1));
  return written.some((rest) => /^[\w,]*\brw\b/.test(rest));
}

/** A name for the secret of the compose file with the content of a file: the same for the same file. */
function secretOf(path: string, { model, register, secretSources }: ImportWork): { name: string; variable: string } {
  const plain = path.replace(/[^\w.-]+/g, '-').replace(/^[^A-Za-z\d]+/, '') || 'file';
  const variable = register.variableFor(plain.toUpperCase(), 'FILE', `file ${path}`);
  const known = Object.entries(model.secrets).find(([, part]) => part['environment'] === variable);
  secretSources.set(variable, { path, isEnvFile: false });
  return { name: known?.[0] ?? freeName(plain, Object.keys(model.secrets)), variable };
}

/** Brings mounted files along, and makes named volumes of directories that hold data. */
export function replaceMounts(work: ImportWork): void {
  const binds = bindsOf(work);
  const dataPaths = new Set(binds.filter(holdsData).map(projectPathOf));
  for (const bind of binds) {
    if (bind.source.includes('$')) continue;
    if (/^[/~]/.test(bind.source)) replaceHostMount(bind);
    else replaceProjectPath(bind, projectPathOf(bind), dataPaths);
  }
}

function isAbove(path: string): boolean {
  return /^(\.|\.\.(\/\.\.)*)$/.test(path);
}

/** Whether services write their data into a directory, so that all services mount a volume in its place. */
function holdsData(bind: Bind): boolean {
  const { mount, work } = bind;
  const path = projectPathOf(bind);
  if (!isOfProject(bind) || mount.read_only === true || isAbove(path)) return false;
  return work.tree.kindOf(path) === 'directory' && directoryUse(work.tree.filesBelow(path), mount.target) === 'data';
}

function replaceProjectPath(bind: Bind, path: string, dataPaths: ReadonlySet<string>): void {
  const { work, place, shown, mount } = bind;
  const kind = work.tree.kindOf(path);
  if (kind === 'directory') bringMountedDirectory(bind, path, dataPaths);
  else if (kind !== null) {
    if (supplySecrets(bind, path, [{ path: '', kind, size: 0 }]) || !mayComeAlong(path, kind, bind)) return;
    onlyRead(bind, path, true);
    mount.source = `./${bringFile(path, work)}`;
  } else if (looksLikeFile(path) && looksLikeFile(mount.target))
    leaveUndecided(work, place, [`${shown} is not there`, 'make the file, or take the mount out']);
  else becomeVolume(bind, path, 'the project has no such directory');
}

function bringMountedDirectory(bind: Bind, path: string, dataPaths: ReadonlySet<string>): void {
  const { work, place, mount, shown } = bind;
  const files = path.startsWith('..') && isAbove(path) ? null : filesToBring(path, work);
  if (dataPaths.has(path) || files?.length === 0)
    becomeVolume(bind, path, 'it holds data; copy what is there into the volume');
  else if (files === null || directoryUse(files, mount.target, true) === 'data')
    leaveUndecided(work, place, [
      `${shown} is too large or too empty to come along`,
      'mount what the service needs of it, or a named volume',
    ]);
  else if (!supplySecrets(bind, path, files)) {
    const open = files.filter((file) => mayComeAlong(joinPath(path, file.path), file.kind, bind));
    change(work, place, [`${shown} comes along (files: ${open.length})`, 'it is configuration']);
    const hasPlace = (target: string) => open.some((file) => `${file.path}/`.startsWith(`${target}/`));
    onlyRead(bind, path, targetsBelow(bind).every(hasPlace));
    mount.source = `./${bring(path, work, open)}`;
  }
}

/**
 * Supplies the mounted files that hold a secret as secrets of the compose file, and mounts the others each: compose can
 * copy nothing into a mounted directory. `files` are below the path, or the path itself. False if there is no secret, or
 * if that is impossible.
 */
function supplySecrets(bind: Bind, path: string, files: readonly TreeFile[]): boolean {
  const { work, place, shown, mount } = bind;
  const pathOf = (file: TreeFile) => joinPath(path, file.path);
  const targetOf = (file: TreeFile) => joinPath(mount.target, file.path);
  const isFile = ({ kind }: TreeFile) => kind === 'file';
  const isKey = (file: TreeFile) => isKeyFile(pathOf(file), work);
  const [keys, others] = [files.filter(isKey), files.filter((file) => !isKey(file))];
  const isOpen = !isKnownToBeWritten(path, mount.target) && targetsBelow(bind).length === 0;
  if (keys.length === 0 || files.length > maxMounts || !files.every(isFile) || !isOpen) return false;
  if (!keys.every((file) => maySupply(pathOf(file), targetOf(file), bind))) return false;
  const secrets = keys.map((file) => ({ ...secretOf(pathOf(file), work), target: targetOf(file) }));
  const named = secrets.map(({ name, variable }) => `${name} of the variable ${variable}`).join(', ');
  const told: [string, string] = files[0]?.path
    ? [`${shown} is mounted file by file (files: ${others.length}), with secrets: ${named}`, visibleNow]
    : [`${shown} is under secrets now: ${named}`, 'it holds a secret, and a bundle holds none'];
  change(work, place, told, (service, { secrets: contents }) => {
    const own = listAt<Mount>(service, 'volumes').find(({ target }) => target === mount.target)?.source ?? '';
    const each = others.map((file) => ({
      ...{ type: 'bind', source: joinPath(own, file.path), target: targetOf(file), read_only: true },
    }));
    replaceMount(service, mount, 'volumes', each);
    service['secrets'] = [
      ...listAt(service, 'secrets'),
      ...secrets.map(({ name: source, target }) => ({ source, target })),
    ];
    for (const { name, variable } of secrets) contents[name] ??= { environment: variable };
  });
  for (const one of listAt<Mount>(bind.service.part, 'volumes')) {
    const file = others.find((each) => targetOf(each) === one.target);
    if (file !== undefined) one.source = `./${bringFile(pathOf(file), work)}`;
  }
  return true;
}

const maxMounts = 50;
const visibleNow = 'a bundle holds no secret; what the image has in the directory is visible now';

/** Where the same service mounts something else below a directory of the container, relative to it. */
function targetsBelow({ mount, service }: Bind): string[] {
  const above = `${mount.target.replace(/\/+$/, '')}/`;
  const all = targetsOf(service).filter((target) => target.startsWith(above));
  return all.map((target) => target.slice(above.length).replace(/\/+$/, '')).filter(Boolean);
}

/**
 * Mounts a path of the bundle read-only, as a bundle must, unless the container is known to write there, which a host
 * refuses. `holdsTargets` is true if the path has a place for each mount below it, which the engine could not create in
 * a read-only one.
 */
function onlyRead(bind: Bind, path: string, holdsTargets: boolean): void {
  const { mount, work, place, shown } = bind;
  if (mount.read_only === true || isWrittenAsWritable(bind) || isKnownToBeWritten(path, mount.target)) return;
  if (holdsTargets) mountReadOnly(bind, 'data belongs into a volume, which outlives a bundle');
  else
    leaveUndecided(work, place, [
      `something else is mounted below ${shown}, where the directory has no place for it`,
      'make an empty file or directory there and mount it with :ro',
    ]);
}

/** Files and directories that programs are known to write, by their names and where they are mounted. */
function isKnownToBeWritten(path: string, target: string): boolean {
  return [path, target].some((each) => writtenFile.test(each)) || writtenTarget.test(target);
}

const writtenFile = /\.(db|sqlite3?|log|sock|pid|lock|rdb|aof)$|(^|\/)acme\.json$/i;
const writtenTarget =
  /^\/(config|data|storage|letsencrypt|acme|var\/log|var\/jenkins_home|etc\/(pihole|letsencrypt))\/?$|\/(uploads|storage|logs)\/?$/;

/** The files below a directory but for the project's compose files; null when there are too many. */
function filesToBring(path: string, { tree, texts }: ImportWork): TreeFile[] | null {
  const isOwn = (file: string) => /\.ya?ml$/.test(file) && texts.has(file);
  return tree.filesBelow(path)?.filter((file) => !isOwn(joinPath(path, file.path))) ?? null;
}

/** Whether a file of a directory comes along; one that does not is left to decide. */
function mayComeAlong(path: string, kind: TreeFile['kind'], { work, place }: Bind): boolean {
  const isKept = kind === 'file' && !isKeyFile(path, work);
  const [what, cure] = whyLeft[kind];
  if (!isKept) leaveUndecided(work, place, [`${printable(path)} ${what}, and does not come along`, cure]);
  return isKept;
}

const whyLeft: Record<TreeFile['kind'], [what: string, cure: string]> = {
  file: [
    'holds a secret',
    'make it a secret of the compose file, with an `environment`, or give --variable FILE if it holds none',
  ],
  foreign: ['is a link that leads out of the project', 'put a file or directory there'],
  special: ['is not a file or directory', 'put a file or directory there'],
};

/** Puts a named volume in the place of a path: the same for the same path. `keys` belong to the volume. */
function becomeVolume(bind: Bind, path: string, why: string, keys: Part = {}): void {
  const { work, shown } = bind;
  const name = work.volumes.get(path) ?? freeName(volumeName(path), Object.keys(work.model.volumes));
  work.volumes.set(path, name);
  changeMount(bind, [`${shown} is the named volume ${name} now`, why], (mount, { volumes }) => {
    Object.assign(mount, { type: 'volume', source: name });
    removeKeys(mount, 'bind');
    volumes[name] ??= { ...keys };
  });
}

function volumeName(path: string): string {
  const parts = path.split('/').map((part) => part.replace(/[^a-zA-Z0-9_.-]+/g, '-'));
  const named = parts.filter((part) => !/^\.*$/.test(part)).join('-');
  const plain = named.replace(/^[^a-zA-Z0-9]+/, '') || 'data';
  return plain.length === 1 ? `${plain}-data` : plain;
}

/**
 * A mount of a path of the host. Clocks are harmless to read. Temporary files, and a directory in a home directory,
 * become a named volume. Other paths stay: the host's policy permits them or not.
 */
function replaceHostMount(bind: Bind): void {
  if (bind.source.startsWith('~')) replaceHomeMount(bind);
  else if (isUnseen(normalizeHostPath(bind.source))) replaceUnseenMount(bind, normalizeHostPath(bind.source));
  else keepHostMount(bind);
}

function replaceHomeMount(bind: Bind): void {
  const { work, place, source, shown } = bind;
  const cure = 'give --variable HOME=PATH';
  if (/^~\/+[^/]/.test(source) && !looksLikeFile(source))
    becomeVolume(bind, source, `a bundle has no home: copy what is there into the volume, or ${cure}`);
  else leaveUndecided(work, place, [`${shown} is in somebody's home`, `write an absolute path, or ${cure}`]);
}

/** Directories of which the agent has its own; a host refuses what stays. */
function replaceUnseenMount(bind: Bind, path: string): void {
  const inMemory = { driver_opts: { type: 'tmpfs', device: 'tmpfs' } };
  if (/^\/dev\/shm(\/|$)/.test(path))
    becomeVolume(bind, path, 'no host permits it; its content is in memory as before', inMemory);
  else if (/^(\/var)?\/tmp(\/|$)/.test(path) && !looksLikeFile(path) && !/\/\.[^/]+$/.test(path))
    becomeVolume(bind, path, 'no host permits it; only containers see what is in it now');
}

function keepHostMount(bind: Bind): void {
  const { source, shown, mount, work, place } = bind;
  if (/^\/etc\/(localtime|timezone)$/.test(source) && mount.read_only !== true)
    mountReadOnly(bind, 'so a bundle may have it anywhere');
  const propagation = textAt(partAt(mount, 'bind'), 'propagation');
  if (/^r?slave$/.test(propagation)) {
    const what = `the propagation ${propagation} of ${shown} is left out`;
    changeMount(bind, [what, 'no host permits it; what is mounted below it later does not appear'], (one) => {
      removeKeys(partAt(one, 'bind'), 'propagation');
      if (Object.keys(partAt(one, 'bind')).length === 0) removeKeys(one, 'bind');
    });
  }
  if (neverPermitted.test(source))
    leaveUndecided(work, place, [`${shown} is permitted by no host`, 'take the mount out']);
}

/** The host itself, and where the engine and deployd keep what is theirs. */
const neverPermitted = /^\/+$|^\/var\/lib\/(docker|containers|containerd|deployd)(\/|$)|^\/etc\/deployd(\/|$)/;

/** The purpose of a mounted directory: `config` is included, `data` is written by a container. */
type DirectoryUse = 'config' | 'data';

const maxFiles = 2_000;
const maxBytes = 2 ** 26;

/** Classifies a directory by its files (null: too many to list) and by its mount point. */
export function directoryUse(files: readonly TreeFile[] | null, target: string, isReadOnly = false): DirectoryUse {
  if (files === null || files.length > maxFiles) return 'data';
  const real = files.filter(
    ({ path }) => !/(^|\/)(\.gitkeep|\.gitignore|\.keep|\.placeholder|readme(\.\w+)?)$/i.test(path),
  );
  if (real.length === 0 || real.reduce((sum, { size }) => sum + size, 0) > maxBytes) return 'data';
  if (isReadOnly) return 'config';
  if (databaseTarget.test(target) || real.some(({ path }) => databaseFile.test(path))) return 'data';
  return real.some(({ path }) => configFile.test(path)) ? 'config' : 'data';
}

/** Whether a path looks like the path of a file, so that a container would not make it a directory. */
function looksLikeFile(path: string): boolean {
  if (/(^|\/)(config|src)$/.test(path)) return false;
  return configFile.test(path) || /(^|\/)[^/.]+\.(db|sqlite3?|log|sock|pid|lock)$/i.test(path);
}

/** Directories in which databases keep their data. */
const databaseTarget =
  /^(\/var\/lib\/(postgresql|mysql|mongodb|redis|rabbitmq|influxdb|clickhouse|cassandra|elasticsearch)|\/data\/(db|configdb)|\/bitnami|\/usr\/share\/elasticsearch\/data)(\/|$)(?!.*(conf|init))/;

const databaseFile = /\.(db|sqlite3?|ibd|frm|myd|rdb|aof|mdb|wal)$|(^|\/)(PG_VERSION|ibdata1|mysql\.sock)$/i;

const configFile =
  /\.(conf|cnf|cfg|ini|toml|ya?ml|json5?|xml|properties|env|sh|bash|sql|lua|m?[jt]s|py|rb|php|pl|html?|css|te?mpl|tpl|j2|hcl|rules?|crt|cert|pem|cer|key|txt|md|ldif|cql|cypher|vcl|acl|repo|service|inc|template|example|sample|dist|default|types|htpasswd|edn|groovy|jar|so|prom|rego|star|tf|vmoptions|policy|users?|passwd|yaml\.tmpl)$|(^|\/)(\.?htpasswd|Caddyfile|Corefile|nginx\.conf|config|Dockerfile|crontab|hosts|passwd|Makefile|\.?\w+rc)$/i;
