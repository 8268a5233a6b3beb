import type { RefusedFault } from '../../../../machines/refusals.ts';
import type { Manifest, Sha } from '../../../../machines/types.ts';
import type { BundleContents } from '../archive/inventory.ts';
import { pathAndAncestors } from '../compose/document/bundlePath.ts';
import { composeContentsOf } from '../compose/document/composeContents.ts';
import { validateComposePolicy } from '../compose/policy/composePolicy.ts';
import { knownVariables, withKnownVariables } from '../plan/knownVariables.ts';
import type { BundleFacts } from '../plan/plan.ts';
import { resourceValues, serviceValues } from './composeParts.ts';
import { differencesOf, type Difference, type Values } from './differences.ts';

/** A service, or another part of the compose files, that differs, with its keys that do. */
export interface PartDifference {
  name: string;
  change: 'added' | 'removed' | 'changed';
  keys: Difference[];
}

/** What differs between two bundles: the output of `deployctl bundle diff --json`. */
export interface BundleDiff {
  before: BundleLabel;
  after: BundleLabel;
  /** True when both have the same files, so that only the packing can differ. */
  same_content: boolean;
  manifest: Difference[];
  services: PartDifference[];
  /** Networks, volumes, configs and secrets of the compose files. */
  resources: PartDifference[];
  images: Difference[];
  variables: Difference[];
  /** By variable: path, field and version. */
  secrets: Difference[];
  /** By path: sha256, and whether it is executable. */
  files: Difference[];
  /** What a host must permit, or a flag of the bundle lift. */
  powers: Difference[];
}

type BundleLabel = Pick<Manifest, 'name' | 'env' | 'version' | 'sequence'> & { sha: Sha | null };

/** One side: a bundle whose compose files could be read, and all of its files. */
export interface DiffSide {
  facts: BundleFacts;
  contents: BundleContents;
}

/** Compares two bundles. */
export function diffOf(before: DiffSide, after: DiffSide): BundleDiff {
  const between = (valuesOf: (side: DiffSide) => Values) => differencesOf(valuesOf(before), valuesOf(after));
  const parts = (partsOf: typeof serviceValues) =>
    partDifferences(partsOf(before.facts.files), partsOf(after.facts.files));
  const files = between(fileValues);
  return {
    before: labelOf(before),
    after: labelOf(after),
    same_content: files.length === 0,
    manifest: between(manifestValues),
    services: parts(serviceValues),
    resources: parts(resourceValues),
    images: between(imageValues),
    variables: between(({ facts }) => new Map(Object.entries(facts.variables))),
    secrets: between(secretValues),
    files,
    powers: between(powerValues),
  };
}

function labelOf({ facts }: DiffSide): BundleLabel {
  const { name, env, version, sequence } = facts.manifest;
  return { sha: facts.sha, name, env, version, sequence };
}

function partDifferences(before: ReadonlyMap<string, Values>, after: ReadonlyMap<string, Values>): PartDifference[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name): PartDifference[] => {
    const [one, other] = [before.get(name), after.get(name)];
    const keys = differencesOf(one ?? new Map(), other ?? new Map());
    if (one === undefined) return [{ name, change: 'added', keys }];
    if (other === undefined) return [{ name, change: 'removed', keys }];
    return keys.length === 0 ? [] : [{ name, change: 'changed', keys }];
  });
}

function manifestValues({ facts }: DiffSide): Values {
  const { name, env, version, sequence, production, agent, compose, profiles, disk_need_bytes, registries } =
    facts.manifest;
  const logins = registries.map(({ host, username_var, password_var }) => `${host} (${username_var}, ${password_var})`);
  const texts = { name, env, version, sequence, production, ...prefixed('agent', agent), compose: compose.join(', ') };
  const need: [string, string][] = disk_need_bytes === null ? [] : [['disk_need_bytes', String(disk_need_bytes)]];
  return new Map<string, string | ReadonlySet<string>>([
    ...Object.entries(texts).map(([key, value]) => [key, String(value)] as const),
    ['profiles', new Set(profiles)],
    ...need,
    ['registries', new Set(logins)],
  ]);
}

function prefixed(key: string, values: object): object {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${key}.${name}`, value as unknown]));
}

function imageValues({ facts }: DiffSide): Values {
  const known = knownVariables(facts);
  const { images } = composeContentsOf(facts.files, facts.profiles);
  return new Map([['image', new Set(images.map((image) => withKnownVariables(image, known)))]]);
}

function secretValues({ facts }: DiffSide): Values {
  return new Map(
    facts.manifest.secrets.map(({ var: name, path, field, version }) => [
      name,
      `${path} field ${field}, ${version === null ? 'latest version' : `version ${version}`}`,
    ]),
  );
}

/** A directory counts only when nothing is in it: some archives list the others, some do not. */
function fileValues({ contents }: DiffSide): Values {
  const occupied = new Set(contents.files.flatMap(({ path }) => pathAndAncestors(path)));
  const empty = contents.directories.filter((path) => !occupied.has(path));
  return new Map([
    ...empty.map((path) => [`${path}/`, 'directory'] as const),
    ...contents.files.map(
      ({ path, sha256, executable }) => [path, executable ? `${sha256}, executable` : sha256] as const,
    ),
  ]);
}

/** The privileges that the policy would refuse without the flags of the bundle, each with its cure; without lines, which move. */
function powerValues({ facts }: DiffSide): Values {
  const { manifest, files, releaseFiles, texts } = facts;
  const unflagged = { ...manifest, agent: { ...manifest.agent, allow_privileged: false } };
  const context = { manifest: unflagged, projectName: `deployd-${manifest.env}`, releaseFiles, texts };
  const refusals = validateComposePolicy(files, context).filter(({ code }) => code !== 'COMPOSE_REFUSED');
  return new Map(
    refusals.map(({ code, detail, faults = [{ text: detail, cure: '' }] }) => [code, new Set(faults.map(formatPower))]),
  );
}

function formatPower({ text, cure }: RefusedFault): string {
  return [text.replace(/:\d+\)$/, ')'), cure].filter(Boolean).join(': ');
}
