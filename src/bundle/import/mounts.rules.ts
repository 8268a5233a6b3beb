import { printable } from '../../core/text.rules.ts';
import { isUnseen, normalizeHostPath } from '../policy/policyHost.rules.ts';
import {
  bringDirectory,
  bringFile,
  type ImportWork,
  isKeyFile,
  joinPath,
  leaveUndecided,
  partsOf,
  type Place,
  type Service,
  servicesOf,
  tellChange,
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
  service: Service;
  place: Place;
  work: ImportWork;
}

function bindsOf(work: ImportWork): Bind[] {
  return servicesOf(work).flatMap((service) =>
    listAt<Mount>(service.part, 'volumes').flatMap((mount) => {
      const { source, type } = mount;
      const place = { owner: service.owner, key: 'volumes' };
      return type === 'bind' && source !== undefined ? [{ mount, source, service, place, work }] : [];
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

function removeMount({ mount, service: { part } }: Bind): void {
  part['volumes'] = listAt(part, 'volumes').filter((one) => one !== mount);
  if (listAt(part, 'volumes').length === 0) removeKeys(part, 'volumes');
}

/** Mounts device files by `devices`, unless other mounts are below them. */
export function replaceDeviceMounts(work: ImportWork): void {
  for (const bind of bindsOf(work)) {
    const { mount, source, service, place } = bind;
    if (!/^\/dev\/(?!shm(\/|$))[^$]+$/.test(source) || mount.target.includes('$')) continue;
    const device = `${source}:${mount.target}`;
    service.part['devices'] = [
      ...listAt(service.part, 'devices'),
      { source, target: mount.target, permissions: 'rwm' },
    ];
    removeMount(bind);
    tellChange(work, place, [`${printable(device)} is under devices now`, 'it is a device file']);
  }
}

/**
 * Gives services the content of mounted files that hold a secret as secrets of the compose file. A file stays a mount if a
 * program may write to it, if it is not a text, or if compose cannot copy it into the container.
 */
export function replaceSecretFiles(work: ImportWork): void {
  for (const bind of bindsOf(work)) {
    const { mount, service, place } = bind;
    if (service.part['read_only'] === true || !isSecretFile(bind)) continue;
    const { name, variable } = secretOf(projectPathOf(bind), work);
    service.part['secrets'] = [...listAt(service.part, 'secrets'), { source: name, target: mount.target }];
    removeMount(bind);
    const what = `${printable(bind.source)} is the secret ${name} of the variable ${variable} now`;
    tellChange(work, place, [what, 'it holds a secret, and a bundle holds none']);
  }
}

function isSecretFile(bind: Bind): boolean {
  const { mount, work, service } = bind;
  const path = projectPathOf(bind);
  if (!isOfProject(bind) || !/^\/[^$]*[^/$]$/.test(mount.target) || work.tree.kindOf(path) !== 'file') return false;
  if (!isKeyFile(path, work) || isWrittenAsWritable(bind) || isKnownToBeWritten(path, mount.target)) return false;
  const text = work.tree.textOf(path) ?? '\0';
  const isInMount = targetsOf(service).some((target) => mount.target.startsWith(`${target}/`));
  return !isInMount && !/[\0\ufffd]/.test(text) && text.length < maxSecretCharacters;
}

/** A variable has at most 131 071 bytes. */
const maxSecretCharacters = 30_000;

function targetsOf({ part }: Service): string[] {
  const inMemory = listAt(part, 'tmpfs').map((text) => String(text).replace(/:.*/, ''));
  return [...listAt<Mount>(part, 'volumes').map(({ target }) => target), ...inMemory];
}

/** Whether the project says `rw`, which compose does not show. */
function isWrittenAsWritable({ mount, work: { texts } }: Bind): boolean {
  return [...texts.values()].some((text) =>
    text
      .split(`:${mount.target}:`)
      .slice(1)
      .some((rest) => /^[\w,]*\brw\b/.test(rest)),
  );
}

/** The secret of the compose file with the content of a file: the same for the same file. */
function secretOf(
  path: string,
  { model: { secrets }, register, secretSources }: ImportWork,
): { name: string; variable: string } {
  const plain = path.replace(/[^\w.-]+/g, '-').replace(/^[^A-Za-z\d]+/, '') || 'file';
  const variable = register.variableFor(plain.toUpperCase(), 'FILE', `file ${path}`);
  const known = Object.entries(secrets).find(([, part]) => part['environment'] === variable);
  if (known !== undefined) return { name: known[0], variable };
  const name = freeName(plain, Object.keys(secrets));
  secrets[name] = { environment: variable };
  secretSources.set(variable, { path, isEnvFile: false });
  return { name, variable };
}

function freeName(plain: string, taken: readonly string[]): string {
  let name = plain;
  for (let count = 2; taken.includes(name); count++) name = `${plain}-${count}`;
  return name;
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
  if (!isOfProject(bind) || mount.read_only === true || isAbove(path) || work.tree.kindOf(path) !== 'directory')
    return false;
  return directoryUse(work.tree.filesBelow(path), mount.target, false) === 'data';
}

function replaceProjectPath(bind: Bind, path: string, dataPaths: ReadonlySet<string>): void {
  const { work, place, source, mount } = bind;
  const kind = work.tree.kindOf(path);
  if (kind === 'directory') bringMountedDirectory(bind, path, dataPaths);
  else if (kind !== null) {
    if (!mayComeAlong(path, kind, bind)) return;
    onlyRead(bind, path, true);
    mount.source = `./${bringFile(path, work)}`;
  } else if (looksLikeFile(path) && looksLikeFile(mount.target))
    leaveUndecided(work, place, [`${printable(source)} is not there`, 'make the file, or take the mount out']);
  else becomeVolume(bind, path, 'the project has no such directory');
}

function bringMountedDirectory(bind: Bind, path: string, dataPaths: ReadonlySet<string>): void {
  const { work, place, mount, source } = bind;
  const files = path.startsWith('..') && isAbove(path) ? null : filesToBring(path, work);
  if (dataPaths.has(path) || files?.length === 0) {
    becomeVolume(bind, path, 'it holds data; copy what is there into the volume');
    return;
  }
  if (files === null || directoryUse(files, mount.target, true) === 'data') {
    const cure = 'mount what the service needs of it, or a named volume';
    leaveUndecided(work, place, [`${printable(source)} is too large or too empty to come along`, cure]);
    return;
  }
  const open = files.filter((file) => mayComeAlong(joinPath(path, file.path), file.kind, bind));
  tellChange(work, place, [`${printable(source)} comes along (files: ${open.length})`, 'it is configuration']);
  const holdsTargets = targetsBelow(bind).every((target) =>
    open.some((file) => `${file.path}/`.startsWith(`${target}/`)),
  );
  onlyRead(bind, path, holdsTargets);
  mount.source = `./${bringDirectory(path, open, work)}`;
}

/** Where the same service mounts something else below a directory of the container, relative to it. */
function targetsBelow({ mount, service }: Bind): string[] {
  const above = `${mount.target.replace(/\/+$/, '')}/`;
  const all = targetsOf(service).filter((target) => target.startsWith(above));
  return all.map((target) => target.slice(above.length).replace(/\/+$/, '')).filter(Boolean);
}

/**
 * Mounts a path of the bundle read-only, as a bundle must, unless the container is known to write there. `holdsTargets`
 * is true if the path has a place for each mount below it, which the engine could not create in a read-only one.
 */
function onlyRead(bind: Bind, path: string, holdsTargets: boolean): void {
  const { mount, work, place } = bind;
  if (mount.read_only === true) return;
  const source = printable(bind.source);
  if (isWrittenAsWritable(bind) || isKnownToBeWritten(path, mount.target))
    leaveUndecided(work, place, [`a container may write to ${source}`, 'mount it with :ro, or a named volume there']);
  else if (!holdsTargets)
    leaveUndecided(work, place, [
      `something else is mounted below ${source}, where the directory has no place for it`,
      'make an empty file or directory there and mount it with :ro',
    ]);
  else {
    mount.read_only = true;
    tellChange(work, place, [`${source} is mounted read-only`, 'data belongs into a volume, which outlives a bundle']);
  }
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
  const fault = kind === 'file' ? (isKeyFile(path, work) ? holdsKey : null) : kindFaults[kind];
  if (fault !== null)
    leaveUndecided(work, place, [`${printable(path)} ${fault[0]}, and does not come along`, fault[1]]);
  return fault === null;
}

const holdsKey: [string, string] = [
  'holds a secret',
  'make it a secret of the compose file, with an `environment`, or give --variable FILE if it holds none',
];
const kindFaults: Record<'foreign' | 'special', [string, string]> = {
  foreign: ['is a link that leads out of the project', 'put a file or directory there'],
  special: ['is not a file or directory', 'put a file or directory there'],
};

/** Puts a named volume in the place of a path: the same for the same path. `keys` belong to the volume. */
function becomeVolume({ mount, source, work, place }: Bind, path: string, why: string, keys: Part = {}): void {
  const name = work.volumes.get(path) ?? freeName(volumeName(path), Object.keys(work.model.volumes));
  work.volumes.set(path, name);
  work.model.volumes[name] ??= keys;
  Object.assign(mount, { type: 'volume', source: name });
  removeKeys(mount, 'bind');
  tellChange(work, place, [`${printable(source)} is the named volume ${name} now`, why]);
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
  const { work, place, source, mount } = bind;
  const cure = 'write an absolute path, or give --variable HOME=PATH';
  const home = work.register.openValueOf('HOME');
  if (home !== null && /^~(\/|$)/.test(source)) {
    mount.source = `${home}${source.slice(1)}`.replaceAll('$', '$$$$');
    const what = `${printable(source)} is written out as ${printable(mount.source)}`;
    tellChange(work, place, [what, 'a bundle has no home']);
  } else if (/^~\/+[^/]/.test(source) && !looksLikeFile(source)) {
    becomeVolume(
      bind,
      source,
      'a bundle has no home: copy what is there into the volume, or give --variable HOME=PATH',
    );
  } else leaveUndecided(work, place, [`${printable(source)} is in somebody's home`, cure]);
}

/** Directories of the agent. */
function replaceUnseenMount(bind: Bind, path: string): void {
  const inMemory = { driver_opts: { type: 'tmpfs', device: 'tmpfs' } };
  if (/^\/dev\/shm(\/|$)/.test(path))
    becomeVolume(bind, path, 'no host permits it; its content is in memory as before', inMemory);
  else if (/^(\/var)?\/tmp(\/|$)/.test(path) && !looksLikeFile(path) && !/\/\.[^/]+$/.test(path))
    becomeVolume(bind, path, 'no host permits it; only containers see what is in it now');
  else leaveRefused(bind);
}

function keepHostMount(bind: Bind): void {
  const { work, place, source, mount } = bind;
  if (/^\/etc\/(localtime|timezone)$/.test(source) && mount.read_only !== true) {
    mount.read_only = true;
    tellChange(work, place, [`${source} is mounted read-only`, 'so a bundle may have it anywhere']);
  }
  const options = partAt(mount, 'bind');
  const propagation = textAt(options, 'propagation');
  if (/^r?slave$/.test(propagation)) {
    removeKeys(options, 'propagation');
    const what = `the propagation ${propagation} of ${printable(source)} is left out`;
    tellChange(work, place, [what, 'no host permits it; what is mounted below it later does not appear']);
  }
  if (neverPermitted.test(source)) leaveRefused(bind);
}

/** The host itself, and where the engine and deployd keep what is theirs. */
const neverPermitted = /^\/+$|^\/var\/lib\/(docker|containers|containerd|deployd)(\/|$)|^\/etc\/deployd(\/|$)/;

function leaveRefused({ source, work, place }: Bind): void {
  leaveUndecided(work, place, [`${printable(source)} is permitted by no host`, 'take the mount out']);
}

/**
 * Writes volumes that are directories so that a host can permit them by their path; directories of the project, of a
 * home directory and of `/tmp` become volumes of the engine.
 */
export function replaceVolumeDrivers(work: ImportWork): void {
  for (const { part, owner } of partsOf(work, 'volumes')) {
    const mountpoint = textAt(partAt(part, 'driver_opts'), 'mountpoint');
    if (part['driver'] === 'local-persist' && mountpoint !== '') {
      Object.assign(part, { driver: 'local', driver_opts: { type: 'none', o: 'bind', device: mountpoint } });
      const what = `local-persist is a bind of ${printable(mountpoint)} now`;
      tellChange(work, { owner, key: 'driver' }, [what, 'a host permits directories, but no drivers']);
    }
    const options = partAt(part, 'driver_opts');
    const device = textAt(options, 'device');
    if (textAt(options, 'o').split(',').includes('bind') && device !== '' && !device.includes('$'))
      replaceDirectory(part, device, { owner, key: 'driver_opts' }, work);
  }
}

function replaceDirectory(part: Part, device: string, place: Place, work: ImportWork): void {
  if (device.startsWith('/') && !isUnseen(normalizeHostPath(device))) return;
  const path = joinPath('.', device);
  const isDirectory = !/^[/~]/.test(device) && work.tree.kindOf(path) === 'directory';
  if (isDirectory && directoryUse(work.tree.filesBelow(path), '', false) === 'config') {
    leaveUndecided(work, place, [`${printable(device)} holds configuration`, 'mount it by its path instead']);
    return;
  }
  removeKeys(part, 'driver', 'driver_opts');
  tellChange(work, place, [`${printable(device)} is a volume of the engine now`, 'copy what is there into it']);
}

/** The purpose of a mounted directory: `config` is included, `data` is written by a container. */
type DirectoryUse = 'config' | 'data';

const maxFiles = 2_000;
const maxBytes = 2 ** 26;

/** Classifies a directory by its files (null: too many to list) and by its mount point. */
function directoryUse(files: readonly TreeFile[] | null, target: string, isReadOnly: boolean): DirectoryUse {
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
