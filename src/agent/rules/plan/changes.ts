import type { Sha } from '../../../../machines/words.ts';
import { contentSources, servicesOf } from '../compose/contents.ts';
import { layersOf } from '../compose/layers.ts';
import { pathsAbove } from '../compose/paths.ts';
import { at, entriesOf, itemsOf, textOf, type ComposeFile, type Tree } from '../compose/tree.ts';

/** What becomes of one part of the project; `unused` stays on the host, `unknown` could not be found out. */
export interface Change {
  name: string;
  change: 'new' | 'changed' | 'unchanged' | 'removed' | 'unused' | 'unknown';
}

/** A bundle or the release in force, as far as its parts can be compared. */
export interface Release {
  /** Null for a directory, which has none. */
  sha: Sha | null;
  version: string;
  files: readonly ComposeFile[];
  /** sha256 of each file that reaches a service, by path. */
  digests: ReadonlyMap<string, string>;
}

/** What is there; null where it could not be found out, or is not trusted. */
export interface Present {
  project: string;
  /** `release` is null where nothing is applied. */
  inForce: { release: Release | null } | null;
  /** Services that have a container, and names of all volumes, by the engine. */
  engine: { services: ReadonlySet<string>; volumes: readonly string[] } | null;
}

/** What an apply would make of services, volumes and images; the values of `secrets` are not known to it. */
export function changesOf(wanted: Release, secrets: readonly string[], present: Present) {
  return {
    services: serviceChanges(wanted, secrets, present),
    volumes: volumeChanges(wanted, present),
    images: imageChanges(wanted, present),
  };
}

function serviceChanges(wanted: Release, secrets: readonly string[], { inForce, engine }: Present): Change[] {
  const names = startedOf(wanted).map(({ name }) => name);
  const before = inForce?.release ?? null;
  const there = engine?.services ?? (inForce && new Set(before === null ? [] : startedOf(before).map(nameOf)));
  const wantedNames = new Set(names);
  const removed = [...(there ?? [])].filter((name) => !wantedNames.has(name));
  const [textBefore, textWanted] = [before && textsOf(before), textsOf(wanted)];
  const changeOf = (name: string): Change['change'] => {
    if (there === null) return 'unknown';
    if (!there.has(name)) return 'new';
    if (textBefore === null) return 'unknown';
    const said = textWanted(name);
    if (said !== textBefore(name)) return 'changed';
    const words = new Set(said.match(/[A-Za-z_]\w*/g));
    return wanted.sha !== before?.sha && secrets.some((secret) => words.has(secret)) ? 'unknown' : 'unchanged';
  };
  return [
    ...names.map((name) => ({ name, change: changeOf(name) })),
    ...removed.map((name) => ({ name, change: 'removed' as const })),
  ];
}

/** For the name of a service, all that decides whether compose makes its container anew, but for the values of secrets. */
function textsOf(release: Release): (name: string) => string {
  const { files, digests, sha } = release;
  const [layers, sources] = [layersOf(files), contentSources(files)];
  const below = digestsBelow(digests);
  return (name) => {
    const own = layers.get(name) ?? [];
    const parts = (['networks', 'volumes', 'configs', 'secrets'] as const).flatMap((kind) =>
      namesUsed(own, kind).flatMap((used) => files.flatMap(({ root }) => at(root, kind, used) ?? [])),
    );
    const reached = new Map((sources.get(name)?.files ?? []).flatMap((source) => below.get(source) ?? []));
    // the path of what is mounted holds the sha
    const mounted = own.some((layer) => itemsOf(at(layer, 'volumes')).some(isOfBundle)) ? sha : null;
    return withOwnValues(JSON.stringify([own, parts, [...reached].toSorted(byName), mounted], withoutLines), release);
  };
}

/** The digests of a file, or of all files below a directory, by its path. */
function digestsBelow(digests: Release['digests']): Map<string, [string, string][]> {
  const below = new Map<string, [string, string][]>();
  for (const entry of digests) {
    for (const path of pathsAbove(entry[0])) {
      const known = below.get(path);
      if (known) known.push(entry);
      else below.set(path, [entry]);
    }
  }
  return below;
}

function withoutLines(key: string, value: unknown): unknown {
  if (key === 'line') return undefined;
  return value instanceof Map ? [...(value as Map<string, unknown>)].toSorted(byName) : value;
}

/** Names of the top level that a service uses; everybody uses the default network. */
function namesUsed(layers: readonly Tree[], kind: 'networks' | 'volumes' | 'configs' | 'secrets'): string[] {
  const written = layers.flatMap((layer) => {
    const own = at(layer, kind);
    if (own?.kind === 'map') return entriesOf(own).map(nameOfEntry);
    return itemsOf(own).flatMap((item) => textOf(at(item, 'source') ?? item)?.split(':', 1) ?? []);
  });
  return [...new Set(kind === 'networks' ? [...written, 'default'] : written)];
}

function isOfBundle(mount: Tree): boolean {
  if (mount.kind === 'scalar') return mount.text.startsWith('.');
  return textOf(at(mount, 'type')) === 'bind' && !textOf(at(mount, 'source'))?.startsWith('/');
}

/** Compose makes a volume when a service uses it, and removes none. */
function volumeChanges({ files }: Release, { project, engine }: Present): Change[] {
  const layers = [...layersOf(files).values()].flat();
  const used = namesUsed(layers, 'volumes');
  const named = servicesOf(files).volumes.map(({ key, name }) => ({ key, name: name ?? `${project}_${key}` }));
  const wanted = named.filter(({ key }) => used.includes(key)).map(nameOf);
  if (engine === null) return wanted.map((name) => ({ name, change: 'unknown' }));
  const unused = engine.volumes.filter((name) => name.startsWith(`${project}_`) && !wanted.includes(name));
  return [
    ...wanted.map((name): Change => ({ name, change: engine.volumes.includes(name) ? 'unchanged' : 'new' })),
    ...unused.map((name): Change => ({ name, change: 'unused' })),
  ];
}

function imageChanges(wanted: Release, { inForce }: Present): Change[] {
  const images = imagesOf(wanted);
  if (inForce === null) return images.map((name) => ({ name, change: 'unknown' }));
  const before = inForce.release === null ? [] : imagesOf(inForce.release);
  const changeOf = (name: string) => (before.includes(name) ? (name.includes('$') ? 'unknown' : 'unchanged') : 'new');
  return [
    ...images.map((name): Change => ({ name, change: changeOf(name) })),
    ...before.filter((name) => !images.includes(name)).map((name): Change => ({ name, change: 'unused' })),
  ];
}

function imagesOf(release: Release): string[] {
  return [...new Set(startedOf(release).flatMap(({ image }) => (image === null ? [] : withOwnValues(image, release))))];
}

/** Services with profiles are not started. */
function startedOf({ files }: Release) {
  return servicesOf(files).services.filter(({ profiles }) => profiles.length === 0);
}

/** The agent's own variables differ from release to release; of the others only the names are known. */
function withOwnValues(text: string, { sha, version }: Release): string {
  return text
    .replaceAll(/\$(DEPLOYD_SHA\b|\{DEPLOYD_SHA[^}]*\})/g, () => sha ?? 'of a directory')
    .replaceAll(/\$(DEPLOYD_VERSION\b|\{DEPLOYD_VERSION[^}]*\})/g, () => version);
}

function nameOf({ name }: { name: string }): string {
  return name;
}

function nameOfEntry([name]: [string, unknown]): string {
  return name;
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}
