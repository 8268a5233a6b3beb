import { normalizePath } from '../createdContainers/normalizedOptions.ts';
import { objectOf, textOf, type ModelObject } from '../createdContainers/renderedModel.ts';

/** A file of the bundle that a service mounts. */
export interface MountedFile {
  data: Uint8Array;
  isExecutable: boolean;
}

/** What the swarm keeps for the tasks that mount it, under a name that its content decides. */
export interface SwarmContent {
  /** Files of the bundle are configs, which anybody may read who may ask the swarm; all else is a secret. */
  kind: 'config' | 'secret';
  name: string;
  data: Uint8Array;
}

/** Where contents come from, and how they are named. */
export interface ContentSources {
  /** The release's directory, as in the model. */
  dir: string;
  /** The files of the bundle that services mount, by their path in it. */
  files: ReadonlyMap<string, MountedFile>;
  /** Values of the variables that configs and secrets name. */
  values: ReadonlyMap<string, string>;
  /**
   * Names of contents. A task has one file for each name, however often it mounts it, so that access is a part of
   * `identity`; for a secret its key in the compose file is one too.
   */
  nameOf: Record<SwarmContent['kind'], (identity: string, data: Uint8Array) => string>;
}

/** A content that a service mounts: where, and who may read it. */
export interface ContentMount {
  content: SwarmContent;
  target: string;
  mode: number;
  uid: string;
  gid: string;
}

type Access = Pick<ContentMount, 'mode' | 'uid' | 'gid'>;

/** The file of the bundle that a path of the model names; null for any other path. */
export function bundleFileAt(path: string, { dir, files }: ContentSources): MountedFile | null {
  const clean = normalizePath(path);
  return clean.startsWith(`${dir}/`) ? (files.get(clean.slice(dir.length + 1)) ?? null) : null;
}

/** A file of the bundle, mounted as it is. */
export function fileMountOf(
  { data, isExecutable }: MountedFile,
  target: string,
  sources: ContentSources,
): ContentMount {
  const access = { uid: '0', gid: '0', mode: isExecutable ? 0o555 : 0o444 };
  return { content: configOf(data, access, sources), target, ...access };
}

/** What a service mounts by an item of `configs` or `secrets`. */
export function contentMountOf(
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

/** What a config or secret says itself or takes from a variable. It may hold a secret, so a config of it is one too. */
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
