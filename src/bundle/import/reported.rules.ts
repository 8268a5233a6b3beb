import { type ImportChange, type ImportReport, masked, normalizeRelative } from './importWork.rules.ts';
import { type Model, type Part, sections } from './model.rules.ts';

/** Where two projects differ for compose: the place as in reports, and the values where they may be shown. */
export interface Difference {
  owner: string;
  key: string;
  what: string;
}

/** Facts that decide the effect of a reported change. */
export interface ProjectFacts {
  projectName: string;
  /** Absolute directory of the project. */
  root: string;
  /** The home of its operator. */
  home: string;
}

/** The differences between a project and its bundle that the report of the import does not name. */
export function unreportedDifferences(
  { before, after }: { before: Model; after: Model },
  { changes, undecided }: ImportReport,
  facts: ProjectFacts,
): Difference[] {
  const expected = withReported({ before, after }, changes, facts);
  const all = differencesOf(expected, after);
  return all.filter(({ owner, key }) => !undecided.some((one) => names(one.owner, owner) && isPartOf(key, one.key)));
}

/** Whether the owner of a report, such as `services a, b`, contains the owner of a difference. */
function names(reported: string, owner: string): boolean {
  const [, kind = '', all = ''] = /^(\w+?)s? (.*)$/.exec(reported) ?? [];
  return all.split(', ').some((name) => `${kind} ${name}` === owner);
}

function isPartOf(key: string, reported: string): boolean {
  return `${key}.`.startsWith(`${reported}.`) || `${reported}.`.startsWith(`${key}.`);
}

/** Each difference between two models, as deep as both have mappings. */
export function differencesOf(one: Model, other: Model): Difference[] {
  return sections.flatMap((section) =>
    keysOf(one[section], other[section]).flatMap((name) => {
      const owner = `${section.slice(0, -1)} ${name}`;
      const [left, right] = [one[section][name], other[section][name]];
      return left === undefined || right === undefined
        ? [{ owner, key: '', what: `is only in the ${left === undefined ? 'bundle' : 'project'}` }]
        : partDifferences([left, right], { owner, path: [] });
    }),
  );
}

function partDifferences(
  [left, right]: [unknown, unknown],
  { owner, path }: { owner: string; path: string[] },
): Difference[] {
  if (isSame(left, right)) return [];
  if (isObject(left) && isObject(right))
    return keysOf(left, right).flatMap((key) =>
      partDifferences([(left as Part)[key], (right as Part)[key]], { owner, path: [...path, key] }),
    );
  const isShown = openKeys.has(path[0] ?? '');
  const what = isShown ? shownDifference(left, right) : 'differs from the project';
  return [{ owner, key: path.join('.'), what: masked(what) }];
}

function shownDifference(left: unknown, right: unknown): string {
  const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  if (!Array.isArray(left) || !Array.isArray(right))
    return `is ${shown(left)} in the project, ${shown(right)} in the bundle`;
  const without = (one: unknown[], others: unknown[]) =>
    one.filter((item) => !others.some((other) => isSame(item, other)));
  const sides = { project: without(left, right), bundle: without(right, left) };
  const lines = Object.entries(sides).flatMap(([side, items]) =>
    items.length === 0 ? [] : [`${items.map(shown).join(', ')} is only in the ${side}`],
  );
  return lines.length === 0 ? 'has another order in the bundle' : lines.join('; ');
}

/** Whether two values are equal, whatever the order of their keys. */
function isSame(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((one, index) => isSame(one, right[index]));
  if (isObject(left) && isObject(right))
    return keysOf(left, right).every((key) => isSame((left as Part)[key], (right as Part)[key]));
  return left === right;
}

/** Keys of services whose values may be shown. */
const openKeys: ReadonlySet<string> = new Set(
  'image ports expose networks depends_on profiles restart user privileged cap_add network_mode volumes deploy env_file'.split(
    ' ',
  ),
);

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function keysOf(one: object, other: object): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])];
}

/** A text of a bundle's model with the places that its files have in the project. */
export function placesInProject(
  copies: ReadonlyMap<string, string>,
  { out, root }: { out: string; root: string },
): (text: string) => string {
  const moved = [...copies].filter(([to, from]) => to !== from);
  return (text) => {
    if (text !== out && !text.startsWith(`${out}/`)) return text.replaceAll(`${out}/`, `${root}/`);
    const path = text.slice(out.length + 1);
    const copy = path === '' ? undefined : moved.find(([to]) => `${to}/`.startsWith(`${path}/`));
    if (copy === undefined) return `${root}${text.slice(out.length)}`;
    const rest = copy[0].slice(path.length);
    return absolute(rest === '' ? copy[1] : copy[1].slice(0, -rest.length), root);
  };
}

/** A path of a project as a model has it. */
function absolute(path: string, root: string): string {
  if (path.startsWith('/')) return path.replace(/(?<=.)\/+$/, '');
  const parts = root.split('/');
  for (const part of normalizeRelative(path).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/') || '/';
}

/** The model of a project with the reported changes of its import; the rest is unchanged. */
function withReported(
  { before, after }: { before: Model; after: Model },
  changes: readonly ImportChange[],
  facts: ProjectFacts,
): Model {
  const model = JSON.parse(JSON.stringify(before)) as Model;
  for (const change of changes)
    for (const [pattern, apply] of effects) {
      const found = pattern.exec(`${change.key}: ${change.what}`);
      const places = found === null ? [] : placesOf(change, model);
      for (const place of places) apply({ ...place, ...facts, model, after }, ...(found?.slice(1) ?? []));
    }
  return model;
}

/** A part of a model that a change names. */
interface ChangedPart extends ProjectFacts {
  part: Part;
  name: string;
  model: Model;
  after: Model;
}

/** The effect of each change's text on the model; a change without a match has no effect. */
const effects: readonly [RegExp, (changed: ChangedPart, ...words: string[]) => void][] = [
  [/^environment\.(\S+): \S+ is left out$/, dropVariable],
  [/^driver: overlay is left out$/, ({ part }) => dropKeys(part, ['driver', 'driver_opts'])],
  [/^image: ([^ ]+)$/, ({ part }, image) => Object.assign(part, { image: image.replaceAll('$', '$$$$') })],
  [/^build: is left out; /, ({ part }) => Reflect.deleteProperty(part, 'build')],
  [/^network_mode: bridge is left out$/, joinDefaultNetwork],
  [/^volumes: (.+) is mounted read-only$/, (changed, source) => setMounts(changed, source, { read_only: true })],
  [/^volumes: (.+) is the named volume (\S+) now$/, mountVolume],
  [/^volumes: (.+) is under devices now$/, addDevice],
  [/^volumes: (.+) is the secret (\S+) of the variable (\w+) now$/, mountSecret],
  [/^volumes: the propagation \S+ of (.+) is left out$/, dropPropagation],
  [/^driver: local-persist is a bind of (.+) now$/, bindDirectory],
  [/^driver_opts: .+ is a volume of the engine now$/, ({ part }) => dropKeys(part, ['driver', 'driver_opts'])],
  [/^driver_opts: (com\.docker\.network\.bridge\.name) is left out$/, dropOption],
  [/^external: is the (network|volume) (\S+) from outside the project now/, becomeExternal],
  [/^(network_mode|pid|ipc): \S+ is written as service:(\S+)$/, joinService],
  [/^runtime: nvidia is a reservation of all GPUs now$/, reserveGpus],
  [
    /^profiles: the empty name is left out$/,
    ({ part }) => Object.assign(part, { profiles: ((part['profiles'] ?? []) as string[]).filter(Boolean) }),
  ],
  [/^logging: .+ is left out$/, ({ part }) => dropKeys(part, ['logging'])],
  [/^stop_grace_period: \S+ is 300s now$/, ({ part }) => Object.assign(part, { stop_grace_period: '5m0s' })],
  [/^(cpu_count|cpu_percent|deploy\.[\w.]+): is left out$/, ({ part }, path) => dropPath(part, path.split('.'))],
  [/^(configs|secrets)\.(uid|gid): is left out$/, dropOwner],
  [/^file: its content is the variable (\w+) now$/, readVariable],
];

/** The services, or the other part, that a report names. */
function placesOf({ owner }: ImportChange, model: Model): { part: Part; name: string }[] {
  const [, kind = '', names = ''] = /^(\w+?)s? (.*)$/.exec(owner) ?? [];
  const parts = (model as Partial<Record<string, Model['services']>>)[`${kind}s`] ?? {};
  return names.split(', ').flatMap((name) => {
    const part = parts[name];
    return part === undefined ? [] : [{ part, name }];
  });
}

/** Compose leaves a network out of its model that nothing uses. */
function joinDefaultNetwork({ part, model, after, projectName }: ChangedPart): void {
  delete part['network_mode'];
  part['networks'] = { default: null };
  model.networks['default'] ??= after.networks['default'] ?? { name: `${projectName}_default`, ipam: {} };
}

function mountVolume(changed: ChangedPart, source: string, volume: string): void {
  const { model, projectName } = changed;
  setMounts(changed, source, { type: 'volume', source: volume, bind: undefined });
  const inMemory = source.startsWith('/dev/shm') && { driver_opts: { type: 'tmpfs', device: 'tmpfs' } };
  model.volumes[volume] ??= { name: `${projectName}_${volume}`, ...inMemory };
}

function addDevice({ part }: ChangedPart, device: string): void {
  const [source = '', target] = device.split(':');
  part['volumes'] = mountsOf(part).filter((mount) => mount['source'] !== source);
  part['devices'] = [...((part['devices'] ?? []) as Part[]), { source, target, permissions: 'rwm' }];
}

function mountSecret(changed: ChangedPart, source: string, secret: string, variable: string): void {
  const { part, model, projectName } = changed;
  const [files, others] = [true, false].map((isFile) =>
    mountsOf(part).filter((mount) => isBindOf(mount, source, changed) === isFile),
  );
  const references = files?.map(({ target }) => ({ source: secret, target })) ?? [];
  part['secrets'] = [...((part['secrets'] ?? []) as Part[]), ...references];
  part['volumes'] = others;
  if (others?.length === 0) delete part['volumes'];
  model.secrets[secret] ??= { name: `${projectName}_${secret}`, environment: variable };
}

function readVariable({ part, name, projectName }: ChangedPart, variable: string): void {
  dropKeys(part, Object.keys(part));
  Object.assign(part, { name: `${projectName}_${name}`, environment: variable });
}

function dropPropagation(changed: ChangedPart, source: string): void {
  for (const mount of mountsOf(changed.part).filter((one) => isBindOf(one, source, changed))) {
    const bind = (mount['bind'] ?? {}) as Part;
    dropKeys(bind, ['propagation']);
    if (Object.keys(bind).length === 0) dropKeys(mount, ['bind']);
  }
}

function bindDirectory({ part }: ChangedPart, device: string): void {
  Object.assign(part, { driver: 'local', driver_opts: { type: 'none', o: 'bind', device } });
}

function dropPath(part: Part, [key = '', ...rest]: string[]): void {
  const inner = part[key];
  if (rest.length === 0) dropKeys(part, [key]);
  else if (isObject(inner)) dropPath(inner as Part, rest);
}

function dropVariable({ part }: ChangedPart, name = ''): void {
  dropPath(part, ['environment', name]);
  if (Object.keys(part['environment'] ?? {}).length === 0) dropKeys(part, ['environment']);
}

/** References to files, which alone have no owner. */
function dropOwner({ part, model }: ChangedPart, section = '', key = ''): void {
  const entries = (model as Partial<Record<string, Record<string, Part>>>)[section] ?? {};
  for (const reference of (part[section] ?? []) as Part[])
    if (entries[String(reference['source'])]?.['file'] !== undefined) dropKeys(reference, [key]);
}

function dropOption({ part }: ChangedPart, option: string): void {
  const options = (part['driver_opts'] ?? {}) as Part;
  dropKeys(options, [option]);
  if (Object.keys(options).length === 0) dropKeys(part, ['driver_opts']);
}

function becomeExternal({ part }: ChangedPart, kind: string, name: string): void {
  dropKeys(part, Object.keys(part));
  Object.assign(part, { name, external: true, ...(kind === 'network' && { ipam: {} }) });
}

/** Compose takes a namespace of a service for a dependency, too. */
function joinService({ part }: ChangedPart, key: string, service: string): void {
  part[key] = `service:${service}`;
  const dependency = { condition: 'service_started', restart: true, required: true };
  part['depends_on'] = { [service]: dependency, ...(part['depends_on'] as Part | undefined) };
}

/** Compose writes -1 for all. */
function reserveGpus({ part }: ChangedPart): void {
  dropKeys(part, ['runtime']);
  const { resources, ...deploy } = (part['deploy'] ?? {}) as { resources?: { reservations?: Part } };
  const devices = resources?.reservations?.['devices'] ?? [{ driver: 'nvidia', count: -1, capabilities: ['gpu'] }];
  const placement =
    'gpus' in part
      ? {}
      : {
          deploy: {
            placement: {},
            ...deploy,
            resources: { ...resources, reservations: { ...resources?.reservations, devices } },
          },
        };
  Object.assign(part, placement);
}

function dropKeys(part: Part, keys: string[]): void {
  for (const key of keys) Reflect.deleteProperty(part, key);
}

/** Changes the bind mounts of a path. */
function setMounts(changed: ChangedPart, source: string, keys: Part): void {
  const { part } = changed;
  if (part['volumes'] === undefined) return;
  part['volumes'] = mountsOf(part).map((mount) => (isBindOf(mount, source, changed) ? withKeys(mount, keys) : mount));
}

function isBindOf(mount: Part, source: string, { home, root }: ProjectFacts): boolean {
  return mount['type'] === 'bind' && mount['source'] === absolute(source.replace(/^~(?=\/|$)/, home), root);
}

function withKeys(part: Part, keys: Part): Part {
  return Object.fromEntries(Object.entries({ ...part, ...keys }).filter(([, value]) => value !== undefined));
}

function mountsOf(service: Part): Part[] {
  return (service['volumes'] ?? []) as Part[];
}
