import type { Manifest } from '../../../machines/types.ts';
import { pathAndAncestors } from '../archive/archiveEntries.rules.ts';
import type { BundleContents } from '../archive/inventory.rules.ts';
import type { ComposeProject } from '../compose/composeProject.rules.ts';
import { type ComposeNode, entriesOf, itemsOf, scalarsOf, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { variablesOf } from '../compose/variables.rules.ts';
import { knownVariables, namesWithoutValue, type VariableFacts, withKnownVariables } from './variables.rules.ts';

/** Effect of an apply on one part of the project; `unused` stays on the host, `unknown` cannot be determined. */
export interface Change {
  name: string;
  change: 'new' | 'changed' | 'unchanged' | 'removed' | 'unused' | 'unknown';
  /** Set for a service of which nothing else changes: the agent hides hooks from compose, so its containers stay. */
  only?: 'hooks';
}

/** A bundle or the applied release, reduced to the comparable parts. */
export interface ComparableRelease extends VariableFacts {
  project: ComposeProject;
  /** sha256 of each file that a service reads or mounts, by path. */
  digests: ReadonlyMap<string, string>;
  /** Texts of its env files and label files, by path. */
  texts: ReadonlyMap<string, string>;
}

/** The present state of the host; null where it is unknown or not trusted. */
export interface PresentState {
  project: string;
  /** `release` is null when nothing is applied. */
  applied: { release: ComparableRelease | null } | null;
  /** Services with a container, and the names of all volumes, from the engine. */
  engine: { services: ReadonlySet<string>; volumes: readonly string[] } | null;
}

/** The changes that an apply would make to profiles, services, volumes and images; the values of `secrets` are unknown. */
export function changesOf(desired: ComparableRelease, secrets: readonly string[], present: PresentState) {
  return {
    profiles: profileChanges(desired, present),
    services: serviceChanges(desired, secrets, present),
    volumes: volumeChanges(desired, present),
    images: imageChanges(desired, present),
  };
}

function profileChanges({ project: { profiles } }: ComparableRelease, { applied }: PresentState): Change[] {
  const before = applied?.release?.project.profiles ?? [];
  const changeOf = (name: string) => (before.includes(name) ? 'unchanged' : 'new');
  return [
    ...profiles.map((name): Change => ({ name, change: applied === null ? 'unknown' : changeOf(name) })),
    ...before.filter((name) => !profiles.includes(name)).map((name): Change => ({ name, change: 'removed' })),
  ];
}

function serviceChanges(
  desired: ComparableRelease,
  secrets: readonly string[],
  { applied, engine }: PresentState,
): Change[] {
  const names = desired.project.running.map(({ name }) => name);
  const before = applied?.release ?? null;
  const presentServices =
    engine?.services ?? (applied && new Set(before === null ? [] : before.project.running.map(nameOf)));
  const desiredNames = new Set(names);
  const removed = [...(presentServices ?? [])].filter((name) => !desiredNames.has(name));
  const [textBefore, desiredText] = [before && containerTextsOf(before), containerTextsOf(desired)];
  const usesSecret = (text: string) => {
    const identifiers = new Set(text.match(/[A-Za-z_]\w*/g));
    return desired.sha !== before?.sha && secrets.some((secret) => identifiers.has(secret));
  };
  const changeOf = (name: string): Pick<Change, 'change' | 'only'> => {
    if (presentServices === null) return { change: 'unknown' };
    if (!presentServices.has(name)) return { change: 'new' };
    if (textBefore === null) return { change: 'unknown' };
    const [text, old] = [desiredText(name), textBefore(name)];
    if (text.whole !== old.whole)
      return { change: 'changed', ...(text.plain === old.plain && !usesSecret(text.plain) && { only: 'hooks' }) };
    return { change: usesSecret(text.plain) ? 'unknown' : 'unchanged' };
  };
  return [
    ...names.map((name) => ({ name, ...changeOf(name) })),
    ...removed.map((name) => ({ name, change: 'removed' as const })),
  ];
}

/** The definition of a service, and the part of it that decides whether compose recreates its container. */
interface ServiceText {
  whole: string;
  /** Without hooks. */
  plain: string;
}

/** The texts of each service, which lack only the values of secrets. */
function containerTextsOf(release: ComparableRelease): (name: string) => ServiceText {
  const { project, digests, sha, texts } = release;
  const known = knownVariables(release);
  const below = digestsBelow(digests);
  const textOfLayers = (name: string, own: readonly ComposeNode[]) => {
    const parts = (['networks', 'volumes', 'configs', 'secrets'] as const).flatMap((kind) =>
      namesUsed(own, kind).flatMap((used) => project.files.flatMap(({ root }) => valueAt(root, kind, used) ?? [])),
    );
    const { files: read, variables } = project.sources.get(name) ?? { files: [], variables: [] };
    const reached = new Map(read.flatMap((source) => below.get(source) ?? []));
    const envTexts = read.flatMap((source) => texts.get(source) ?? []);
    // the path of a mount contains the sha
    const mounted = own.some((layer) => itemsOf(valueAt(layer, 'volumes')).some(isBundlePath)) ? sha : null;
    const names = new Set([...[...own, ...parts].flatMap(namesIn), ...envTexts.flatMap(namesInText), ...variables]);
    const values = [...known].filter(([variable]) => names.has(variable));
    const [digested, supplied] = [[...reached].toSorted(byName), values.toSorted(byName)];
    return JSON.stringify([own, parts, digested, envTexts, supplied, mounted], withoutLines);
  };
  return (name) => {
    const own = project.services.get(name) ?? [];
    const plain = textOfLayers(name, own.map(withoutHooks));
    return {
      plain,
      whole: own.some((layer) => valueAt(layer, 'pre_stop') ?? valueAt(layer, 'post_start'))
        ? textOfLayers(name, own)
        : plain,
    };
  };
}

function withoutHooks(layer: ComposeNode): ComposeNode {
  if (layer.kind !== 'map') return layer;
  const entries = new Map([...layer.entries].filter(([key]) => key !== 'pre_stop' && key !== 'post_start'));
  return { ...layer, entries };
}

/** The digests of a file, or of all files below a directory, by its path. */
function digestsBelow(digests: ComparableRelease['digests']): Map<string, [string, string][]> {
  const below = new Map<string, [string, string][]>();
  for (const entry of digests) {
    for (const path of pathAndAncestors(entry[0])) {
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

/** Names of top-level networks, volumes … that a service uses; every service uses the default network. */
function namesUsed(layers: readonly ComposeNode[], kind: 'networks' | 'volumes' | 'configs' | 'secrets'): string[] {
  const names = layers.flatMap((layer) => {
    const own = valueAt(layer, kind);
    if (own?.kind === 'map') return entriesOf(own).map(nameOfEntry);
    return itemsOf(own).flatMap((item) => textOf(valueAt(item, 'source') ?? item)?.split(':', 1) ?? []);
  });
  return [...new Set(kind === 'networks' ? [...names, 'default'] : names)];
}

function isBundlePath(mount: ComposeNode): boolean {
  if (mount.kind === 'scalar') return mount.text.startsWith('.');
  return textOf(valueAt(mount, 'type')) === 'bind' && !textOf(valueAt(mount, 'source'))?.startsWith('/');
}

/** Compose creates a volume when a service uses it, and removes none. */
function volumeChanges(bundle: ComparableRelease, { project, engine }: PresentState): Change[] {
  const { active, volumes } = bundle.project;
  const layers = [...active.values()].flat();
  const used = namesUsed(layers, 'volumes');
  const named = volumes.map(({ key, name }) => ({
    key,
    name: name ?? `${project}_${key}`,
  }));
  const desired = named.filter(({ key }) => used.includes(key)).map(nameOf);
  if (engine === null) return desired.map((name) => ({ name, change: 'unknown' }));
  const unused = engine.volumes.filter((name) => name.startsWith(`${project}_`) && !desired.includes(name));
  return [
    ...desired.map((name): Change => ({ name, change: engine.volumes.includes(name) ? 'unchanged' : 'new' })),
    ...unused.map((name): Change => ({ name, change: 'unused' })),
  ];
}

function imageChanges(desired: ComparableRelease, { applied }: PresentState): Change[] {
  const images = imagesOf(desired);
  if (applied === null) return images.map((name) => ({ name, change: 'unknown' }));
  const before = applied.release === null ? [] : imagesOf(applied.release);
  const changeOf = (name: string) => (before.includes(name) ? (name.includes('$') ? 'unknown' : 'unchanged') : 'new');
  return [
    ...images.map((name): Change => ({ name, change: changeOf(name) })),
    ...before.filter((name) => !images.includes(name)).map((name): Change => ({ name, change: 'unused' })),
  ];
}

function imagesOf(release: ComparableRelease): string[] {
  const known = knownVariables(release);
  const images = release.project.running.flatMap(({ image }) => image ?? []);
  return [...new Set(images.map((image) => withKnownVariables(image, known)))];
}

/** Names of the variables in the texts of a node, and of those without a value in its `environment`. */
function namesIn(node: ComposeNode): string[] {
  const written = scalarsOf(node).flatMap(({ text }) => namesInText(text));
  return [...written, ...namesWithoutValue(valueAt(node, 'environment'))];
}

function namesInText(text: string): string[] {
  return variablesOf(text).uses.map(nameOf);
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

/** A bundle by its manifest and its files. */
interface ComparedBundle {
  manifest: Manifest;
  contents: BundleContents;
}

/**
 * True for bundles that differ only in sequence, version text and the versions of their secrets, as after a rotated
 * secret and an aborted rollout.
 */
export function hasSameContent(one: ComparedBundle, other: ComparedBundle): boolean {
  return (
    manifestText(one.manifest) === manifestText(other.manifest) && filesText(one.contents) === filesText(other.contents)
  );
}

function manifestText(manifest: Manifest): string {
  const secrets = manifest.secrets.map(({ var: name, path, field }) => [name, path, field]);
  const compared = Object.entries({ ...manifest, sequence: 0, version: '', secrets });
  return JSON.stringify(compared.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function filesText({ files, directories }: BundleContents): string {
  const texts = files
    .filter(({ path }) => path !== 'manifest.json')
    .map(({ path, sha256, executable }) => JSON.stringify([path, sha256, executable]));
  return [...texts.toSorted(), ...directories.toSorted()].join('\n');
}
