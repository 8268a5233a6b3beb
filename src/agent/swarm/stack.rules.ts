import { contentLabel } from '../engine/container.rules.ts';
import { normalizePath } from '../engine/createdContainer.rules.ts';
import { listOf, type ModelObject, objectOf, textOf, textsOf } from '../release/model.rules.ts';

/** The input of converting a rendered model to a stack. */
export interface StackSources extends ContentSources {
  /** Each image of the model with its digest. */
  pinnedImages: ReadonlyMap<string, string>;
  /** The bundle, with which every service is labelled. */
  sha: string;
}

/**
 * A release as a swarm runs it. The file contains the values of `environment`, the contents contain the values of
 * secrets.
 */
interface Stack {
  /** Input of `docker stack deploy`. */
  file: ModelObject;
  /** Content that must be in the swarm before the deploy, without duplicates. */
  contents: SwarmContent[];
  /** Mounts of empty content, which a swarm does not store: `web: /run/secrets/db`. */
  empty: string[];
}

/** The version of stack files that the docker program of every supported engine knows. */
const version = '3.9';

/**
 * Converts the model that compose renders into a stack. Dollar signs stay doubled, as both programs expect. Features
 * that a stack does not support were refused before.
 */
export function stackOf(model: unknown, sources: StackSources): Stack {
  const root = objectOf(model);
  const services = Object.entries(objectOf(root['services'])).map(([name, service]) => {
    const { contents, volumes } = mountsOf(objectOf(service), root, sources);
    const written = textOf(objectOf(service)['image']);
    const image = sources.pinnedImages.get(written) ?? written;
    const labels = { ...ownedBy(root), 'com.docker.compose.service': name };
    const parts = { image, labels, sha: sources.sha, contents, volumes };
    return { name, contents, service: stackServiceOf(objectOf(service), parts) };
  });
  const mounted = services.flatMap(({ contents }) => contents.map(({ content }) => content));
  const contents = [...new Map(mounted.map((content) => [content.name, content])).values()];
  const file = {
    version,
    services: Object.fromEntries(services.map(({ name, service }) => [name, service])),
    networks: objectOf(root['networks']),
    volumes: Object.fromEntries(Object.entries(objectOf(root['volumes'])).map(labelledBy(root))),
    configs: referencesTo(contents, 'config'),
    secrets: referencesTo(contents, 'secret'),
  };
  const empty = services.flatMap(({ name, contents: mounts }) =>
    mounts.filter(({ content }) => content.data.length === 0).map(({ target }) => `${name}: ${target}`),
  );
  return { file: withPlainKeys(file) as ModelObject, contents, empty };
}

/** The labels by which every node identifies the project's resources, as compose would set them on one host. */
function ownedBy(root: ModelObject): ModelObject {
  return { 'com.docker.compose.project': root['name'] };
}

function labelledBy(root: ModelObject): (volume: [string, unknown]) => [string, ModelObject] {
  return ([name, value]) => {
    const volume = objectOf(value);
    const labels = { ...objectOf(volume['labels']), ...ownedBy(root) };
    return [name, volume['external'] === true ? volume : { ...volume, labels }];
  };
}

/** The mounts of a service, divided into content in the swarm and resources on the nodes. */
function mountsOf(service: ModelObject, root: ModelObject, sources: ContentSources) {
  const volumes: ModelObject[] = [];
  const files: ContentMount[] = [];
  for (const mount of listOf(service['volumes']).map(objectOf)) {
    const file = mount['type'] === 'bind' ? bundleFileAt(textOf(mount['source']), sources) : null;
    if (file === null) volumes.push(mount);
    else files.push(fileMountOf(file, textOf(mount['target']), sources));
  }
  const named = (['configs', 'secrets'] as const).flatMap((section) =>
    listOf(service[section]).map((reference) => contentMountOf(reference, section, { root, sources })),
  );
  return { volumes, contents: [...files, ...named] };
}

function referencesTo(contents: readonly SwarmContent[], kind: SwarmContent['kind']): ModelObject {
  const names = contents.filter((content) => content.kind === kind).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, { name, external: true }]));
}

/** Compose doubles the dollar signs of keys as well, which no program undoes. */
function withPlainKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [textOf(key), withPlainKeys(inner)]));
}

/** The additions to a service of the stack, on top of the model. */
interface ServiceParts {
  /** Labels of its containers. */
  labels: ModelObject;
  /** The image with its digest. */
  image: string;
  sha: string;
  /** The contents that it mounts. */
  contents: readonly ContentMount[];
  /** The items of `volumes` that are not contents. */
  volumes: readonly ModelObject[];
}

/**
 * Keys without effect in a stack, because compose has already applied them or they only concern `docker compose up`.
 */
const droppedKeys = ['attach', 'develop', 'expose', 'profiles', 'pull_policy', 'restart', 'scale', 'tmpfs'];

/**
 * A service of the rendered model in the form for `docker stack deploy`. Other keys stay, so that the program refuses
 * keys that it does not support.
 */
function stackServiceOf(service: ModelObject, { image, labels, sha, contents, volumes }: ServiceParts): ModelObject {
  const kept = Object.entries(service).filter(([key, value]) => !droppedKeys.includes(key) && value !== null);
  const temporary = textsOf(service['tmpfs']).map((target) => ({ type: 'tmpfs', target }));
  return {
    ...Object.fromEntries(kept),
    image,
    configs: contents.filter(({ content }) => content.kind === 'config').map(referenceOf),
    secrets: contents.filter(({ content }) => content.kind === 'secret').map(referenceOf),
    volumes: [...volumes, ...temporary].map(stackMountOf),
    ports: listOf(service['ports']).map((port) => portOf(objectOf(port))),
    depends_on: Object.keys(objectOf(service['depends_on'])),
    extra_hosts: listOf(service['extra_hosts']).map((host) => String(host).replace('=', ':')),
    ...inertTextsOf(service),
    labels: { ...keptLabelsOf(service), ...placementLabelOf(service), ...labels },
    deploy: deployOf(service, sha),
  };
}

function referenceOf({ content, target, ...access }: ContentMount): ModelObject {
  return { source: content.name, target: target.replaceAll('$', '$$$$'), ...access };
}

function portOf({ published, ...port }: ModelObject): ModelObject {
  return { ...port, ...(published !== undefined && { published: Number(textOf(published)) }) };
}

/** The keys in which a swarm would expand templates. */
function inertTextsOf(service: ModelObject): ModelObject {
  const environment = Object.entries(objectOf(service['environment'])).map(([name, value]) => [name, inertText(value)]);
  return {
    environment: Object.fromEntries(environment),
    ...(service['hostname'] !== undefined && { hostname: inertText(service['hostname']) }),
  };
}

/**
 * Omits the label by which compose detects changed content: in a swarm, contents have their own names, which are the
 * same on all nodes.
 */
function keptLabelsOf(service: ModelObject): ModelObject {
  const labels = Object.entries(objectOf(service['labels'])).filter(([name]) => name !== contentLabel);
  return Object.fromEntries(labels);
}

/**
 * Makes the swarm start a service again when its placement changes. The swarm keeps tasks if only the placement changed
 * and their nodes still match. These could not be distinguished from tasks that still have to be replaced.
 */
function placementLabelOf(service: ModelObject): ModelObject {
  const placement = objectOf(objectOf(service['deploy'])['placement']);
  return Object.keys(placement).length === 0 ? {} : { 'deployd.placement': JSON.stringify(placement) };
}

function deployOf(service: ModelObject, sha: string): ModelObject {
  const deploy = objectOf(service['deploy']);
  const { limits, reservations, ...resources } = objectOf(deploy['resources']);
  return {
    restart_policy: restartPolicyOf(service),
    ...deploy,
    ...(service['scale'] !== undefined && { replicas: service['scale'] }),
    labels: { ...objectOf(deploy['labels']), 'deployd.sha': sha },
    resources: {
      ...resources,
      ...(limits !== undefined && { limits: quantityOf(objectOf(limits)) }),
      ...(reservations !== undefined && { reservations: quantityOf(objectOf(reservations)) }),
    },
  };
}

function quantityOf({ cpus, ...quantity }: ModelObject): ModelObject {
  return { ...quantity, ...(cpus !== undefined && { cpus: textOf(cpus) }) };
}

/** `restart` in the terms of a swarm. Without it a service that has a healthcheck must keep running, as on one host. */
function restartPolicyOf({ restart, healthcheck }: ModelObject): ModelObject {
  const [condition, attempts] = textOf(restart).split(':');
  const mustRun = healthcheck !== undefined && objectOf(healthcheck)['disable'] !== true;
  if (condition === 'always' || condition === 'unless-stopped') return { condition: 'any' };
  if (condition === 'on-failure')
    return { condition: 'on-failure', ...(attempts !== undefined && { max_attempts: Number(attempts) }) };
  return { condition: restart === undefined && mustRun ? 'any' : 'none' };
}

/** A mount as a stack has it. Compose adds `create_host_path` by itself; a swarm creates no path on its nodes. */
function stackMountOf({ source, target, bind, tmpfs, ...mount }: ModelObject): ModelObject {
  const options = Object.entries(objectOf(bind)).filter(([key]) => key !== 'create_host_path');
  const { size } = objectOf(tmpfs);
  return {
    ...mount,
    ...(source !== undefined && { source: inertText(source) }),
    target: inertText(target),
    ...(options.length > 0 && { bind: Object.fromEntries(options) }),
    ...(size !== undefined && { tmpfs: { size: Number(textOf(size)) } }),
  };
}

/** A text, escaped so that a swarm does not expand templates in it and the container gets it unchanged. */
function inertText(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('{{', '{{"{{"}}') : value;
}

/** A file of the bundle that a service mounts. */
export interface MountedFile {
  data: Uint8Array;
  isExecutable: boolean;
}

/** Content that the swarm stores for the tasks that mount it, under a name derived from the content. */
export interface SwarmContent {
  /**
   * Files of the bundle become configs, which anyone with access to the swarm's API may read; everything else becomes a
   * secret.
   */
  kind: 'config' | 'secret';
  name: string;
  data: Uint8Array;
}

/** The sources of contents, and their naming. */
export interface ContentSources {
  /** The release's directory, as in the model. */
  dir: string;
  /** The files of the bundle that services mount, by their path in it. */
  files: ReadonlyMap<string, MountedFile>;
  /** Values of the variables that configs and secrets name. */
  values: ReadonlyMap<string, string>;
  /**
   * Names of contents. A task has one file for each name, however often it mounts it, so that `identity` includes the
   * access rights; for a secret also its key in the compose file.
   */
  nameOf: Record<SwarmContent['kind'], (identity: string, data: Uint8Array) => string>;
}

/** A content that a service mounts: its path, and its permissions. */
interface ContentMount {
  content: SwarmContent;
  target: string;
  mode: number;
  uid: string;
  gid: string;
}

type Access = Pick<ContentMount, 'mode' | 'uid' | 'gid'>;

/** The file of the bundle that a path of the model names; null for any other path. */
function bundleFileAt(path: string, { dir, files }: ContentSources): MountedFile | null {
  const clean = normalizePath(path);
  return clean.startsWith(`${dir}/`) ? (files.get(clean.slice(dir.length + 1)) ?? null) : null;
}

/** A mounted file of the bundle, unchanged. */
function fileMountOf({ data, isExecutable }: MountedFile, target: string, sources: ContentSources): ContentMount {
  const access = { uid: '0', gid: '0', mode: isExecutable ? 0o555 : 0o444 };
  return { content: configOf(data, access, sources), target, ...access };
}

/** The content of an item of `configs` or `secrets` of a service. */
function contentMountOf(
  reference: unknown,
  section: 'configs' | 'secrets',
  { root, sources }: { root: ModelObject; sources: ContentSources },
): ContentMount {
  const item: ModelObject = typeof reference === 'string' ? { source: reference } : objectOf(reference);
  const key = textOf(item['source']);
  const target = textOf(item['target']) || key;
  const base = section === 'configs' ? '' : '/run/secrets';
  const access = { uid: textOf(item['uid']) || '0', gid: textOf(item['gid']) || '0', mode: modeOf(item['mode']) };
  const definition = objectOf(objectOf(root[section])[key]);
  const file = bundleFileAt(textOf(definition['file']), sources);
  const content =
    section === 'configs' && file !== null
      ? configOf(file.data, access, sources)
      : secretOf({ key, data: file?.data ?? textIn(definition, sources) }, access, sources);
  return { content, target: normalizePath(target.startsWith('/') ? target : `${base}/${target}`), ...access };
}

function configOf(data: Uint8Array, access: Access, { nameOf }: ContentSources): SwarmContent {
  return { kind: 'config', name: nameOf.config(formatAccess(access), data), data };
}

function secretOf(
  { key, data }: { key: string; data: Uint8Array },
  access: Access,
  { nameOf }: ContentSources,
): SwarmContent {
  return { kind: 'secret', name: nameOf.secret(`${key} ${formatAccess(access)}`, data), data };
}

/**
 * The inline content of a config or secret, or the value of its variable. It may contain a secret, so such a config is
 * also stored as a secret.
 */
function textIn(definition: ModelObject, { values }: ContentSources): Uint8Array {
  const text = values.get(textOf(definition['environment'])) ?? textOf(definition['content']);
  return new TextEncoder().encode(text);
}

function formatAccess({ uid, gid, mode }: Access): string {
  return `${uid}:${gid} ${mode.toString(8)}`;
}

/** Compose renders a mode as a number, or as its octal digits. */
function modeOf(mode: unknown): number {
  if (mode === undefined) return 0o444;
  return typeof mode === 'number' ? mode : parseInt(textOf(mode), 8);
}
