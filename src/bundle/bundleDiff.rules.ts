import type { RefusedFault } from '../../machines/refusals.ts';
import { printable } from '../core/text.rules.ts';
import type { Manifest, Sha } from '../../machines/types.ts';
import { pathAndAncestors } from './archive/archiveEntries.rules.ts';
import type { BundleContents } from './archive/inventory.rules.ts';
import { type ComposeNode, entriesOf, textOf, valueAt } from './compose/composeNode.rules.ts';
import type { MergedFiles } from './compose/services.rules.ts';
import { formatRows } from './plan/formatPlan.rules.ts';
import type { BundleFacts } from './plan/plan.rules.ts';
import { knownVariables, withKnownVariables } from './plan/variables.rules.ts';
import { validateComposePolicy } from './policy/composePolicy.rules.ts';

/** A service, or another part of the compose files, that differs, with its keys that do. */
interface PartDifference {
  name: string;
  change: 'added' | 'removed' | 'changed';
  keys: Difference[];
}

/** The differences between two bundles: the output of `deployctl bundle diff --json`. */
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
  /** Privileges that a host must permit, or a flag of the bundle must allow. */
  privileges: Difference[];
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
    partDifferences(partsOf(before.facts.project), partsOf(after.facts.project));
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
    privileges: between(privilegeValues),
  };
}

/** The content of a bundle for the person who signs it: by label, a line for each value. */
export function signedFacts(side: DiffSide): [label: string, lines: string[]][] {
  const { manifest, variables } = side.facts;
  const images = [...asSet(imageValues(side).get('image') ?? new Set())];
  const flags = Object.entries({ production: manifest.production, ...prefixed('agent', manifest.agent) });
  const privileges = [...privilegeValues(side).values()].flatMap((values) => [...asSet(values)]);
  const facts: [label: string, lines: string[]][] = [
    ['images', images.map((image) => (image.includes('@sha256:') ? image : `${image} (no digest: its tag can move)`))],
    ['flags', flags.flatMap(([name, isSet]) => (isSet ? [name] : []))],
    ['variables', Object.entries(variables).map(([name, value]) => `${name}=${printable(value)}`)],
    ['secrets', [...secretValues(side)].map(([name, source]) => `${name} from ${[...asSet(source)].join(', ')}`)],
    ['privileges', privileges],
  ];
  return facts.map(([label, lines]) => [label, lines.length === 0 ? ['none'] : lines]);
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
  const { images } = facts.project;
  return new Map([['image', new Set(images.map((image) => withKnownVariables(image, known)))]]);
}

function secretValues({ facts }: DiffSide): Values {
  return new Map(
    facts.manifest.secrets.map(({ var: name, path, field, version, argument_of = [] }) => [
      name,
      [
        `${path} field ${field}, ${version === null ? 'latest version' : `version ${version}`}`,
        ...(argument_of.length === 0 ? [] : [`an argument of ${argument_of.join(', ')}`]),
      ].join(', '),
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

/**
 * The privileges that the policy would refuse without the flags of the bundle, each with its cure; without lines, which
 * move.
 */
function privilegeValues({ facts }: DiffSide): Values {
  const { manifest, project, releaseFiles, texts } = facts;
  const unflagged = { ...manifest, agent: { ...manifest.agent, allow_privileged: false } };
  const context = { manifest: unflagged, projectName: `deployd-${manifest.env}`, releaseFiles, texts };
  const refusals = validateComposePolicy(project, context).filter(({ code }) => code !== 'COMPOSE_REFUSED');
  return new Map(
    refusals.map(({ code, detail, faults = [{ text: detail, cure: '' }] }) => [
      code,
      new Set(faults.map(formatPrivilege)),
    ]),
  );
}

function formatPrivilege({ text, cure }: RefusedFault): string {
  return [text.replace(/:\d+\)$/, ')'), cure].filter(Boolean).join(': ');
}

/** Sections of a compose file, and what one of their entries is called. */
const sections = { networks: 'network', volumes: 'volume', configs: 'config', secrets: 'secret' } as const;

/** Keys of which a list of `NAME=value` means the same as a mapping. */
const assignmentKeys = new Set(['environment', 'labels', 'annotations', 'sysctls']);
/** Keys whose list is one value, which a later file replaces. */
const sequenceKeys = new Set(['command', 'entrypoint', 'test']);

/** The services of a bundle by name, each with its values by key path (`environment.LEVEL`), merged over all files. */
function serviceValues({ services }: MergedFiles): Map<string, Values> {
  return new Map([...services].map(([name, layers]) => [name, mergedValues(layers)]));
}

/** The networks, volumes, configs and secrets of the files in the same way, named as `network front`. */
function resourceValues({ files }: MergedFiles): Map<string, Values> {
  const layers = new Map<string, ComposeNode[]>();
  for (const { root } of files) {
    for (const [section, kind] of Object.entries(sections)) {
      for (const [name, node] of entriesOf(valueAt(root, section))) {
        layers.set(`${kind} ${name}`, [...(layers.get(`${kind} ${name}`) ?? []), node]);
      }
    }
  }
  return new Map([...layers].map(([name, nodes]) => [name, mergedValues(nodes)]));
}

function mergedValues(layers: readonly ComposeNode[]): Values {
  const values = new Map<string, string | ReadonlySet<string>>();
  for (const layer of layers) {
    for (const [key, node] of entriesOf(layer)) if (key !== 'extends') collect(node, [key], values);
  }
  return values;
}

function collect(node: ComposeNode, path: readonly string[], into: Map<string, string | ReadonlySet<string>>): void {
  const [key, last = ''] = [path.join('.'), path.at(-1)];
  if (node.kind === 'map' && node.entries.size > 0) {
    for (const [name, inner] of node.entries) collect(inner, [...path, name], into);
  } else if (node.kind !== 'list' || sequenceKeys.has(last)) {
    into.set(key, textFor(node));
  } else if (assignmentKeys.has(last)) {
    for (const item of node.items.map(textFor)) {
      const [name = '', ...rest] = item.split('=');
      into.set(`${key}.${name}`, item.includes('=') ? rest.join('=') : noValue);
    }
  } else {
    into.set(key, new Set([...asSet(into.get(key) ?? new Set()), ...node.items.map(textFor)]));
  }
}

/** Stands for the value of a name alone, or of a key without one. */
const noValue = '(none)';

function textFor(node: ComposeNode): string {
  if (node.kind === 'scalar') return textOf(node) ?? noValue;
  return JSON.stringify(plainOf(node));
}

function plainOf(node: ComposeNode): unknown {
  if (node.kind === 'scalar') return textOf(node);
  if (node.kind === 'list') return node.items.map(plainOf);
  return Object.fromEntries([...node.entries].map(([key, inner]) => [key, plainOf(inner)]));
}

/** A value by its key; a set holds the items of a list of which compose ignores the order. */
type Values = ReadonlyMap<string, string | ReadonlySet<string>>;

/** A key whose value differs; null on the side that lacks it. An item of a list stands for itself. */
interface Difference {
  key: string;
  before: string | null;
  after: string | null;
}

/** Replaces a value that is not shown. */
const hiddenValue = '(not shown)';

/** The keys whose values differ, in the order of `before`, then of `after`. */
function differencesOf(before: Values, after: Values): Difference[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key): Difference[] => {
    const [one, other] = [before.get(key) ?? new Set<string>(), after.get(key) ?? new Set<string>()];
    if (typeof one === 'string' && typeof other === 'string') {
      return one === other ? [] : [{ key, before: one, after: other }];
    }
    const [left, right] = [asSet(one), asSet(other)];
    return [
      ...[...left].filter((item) => !right.has(item)).map((item) => ({ key, before: item, after: null })),
      ...[...right].filter((item) => !left.has(item)).map((item) => ({ key, before: null, after: item })),
    ];
  });
}

/** A value as the set of its items: a text is one item. */
function asSet(value: string | ReadonlySet<string>): ReadonlySet<string> {
  return typeof value === 'string' ? new Set([value]) : value;
}

/** Keys of compose files below which somebody may have written a password into a bundle, where none belongs. */
const confidentialKeys = [
  ...['environment', 'command', 'entrypoint', 'test', 'labels', 'annotations', 'options', 'driver_opts', 'content'],
  ...['post_start', 'pre_start', 'pre_stop', 'credential_spec'],
];
const confidentialKey = new RegExp(String.raw`(^|\.)(${confidentialKeys.join('|')}|x-[^.]*)(\.|$)`);
/** A value that has such a key inside, as items of lists in their long form. */
const confidentialItem = new RegExp(`"(${confidentialKeys.join('|')}|x-[^"]*)":`);
/** The text of a privilege, from the first value that it names of such a key. */
const confidentialPrivilege = new RegExp(String.raw`((?:^|[ .])(?:${confidentialKeys.join('|')})(?:\.\S*)?) .*`, 's');

/**
 * The differences for readers who need not see what a bundle may hold by mistake: values of environments, commands, labels,
 * options of drivers and logs, and inline files are not in it. The difference itself is shown.
 */
export function withoutConfidential(diff: BundleDiff): BundleDiff {
  return {
    ...diff,
    services: diff.services.map(withoutValues),
    resources: diff.resources.map(withoutValues),
    privileges: diff.privileges.map(({ key, before, after }) => ({ key, before: cut(before), after: cut(after) })),
  };
}

function withoutValues({ keys, ...part }: PartDifference): PartDifference {
  return { ...part, keys: keys.map((each) => (isConfidential(each) ? hidden(each) : each)) };
}

function isConfidential({ key, before, after }: Difference): boolean {
  return confidentialKey.test(key) || [before, after].some((value) => value !== null && confidentialItem.test(value));
}

function hidden({ key, before, after }: Difference): Difference {
  return { key, before: before === null ? null : hiddenValue, after: after === null ? null : hiddenValue };
}

function cut(privilege: string | null): string | null {
  return privilege && privilege.replace(confidentialPrivilege, `$1 ${hiddenValue}`);
}

/** Characters of a key or value that are shown. */
const maxCharacters = 10_000;

/** The differences of two bundles as text: what they come to, then one aligned row for each kind. */
export function formatDiff(diff: BundleDiff): string {
  const { before, after, services, resources, images, privileges } = diff;
  return formatRows(
    [headline(diff)],
    [
      ['before', labelLines(before)],
      ['after', labelLines(after)],
      ['privileges', privileges.map((privilege) => signed(privilege, sideShown(privilege)))],
      ['manifest', diff.manifest.map(formatDifference)],
      ['services', services.flatMap(formatPart)],
      ['resources', resources.flatMap(formatPart)],
      ['images', images.map((image) => signed(image, sideShown(image)))],
      ['variables', diff.variables.map(formatDifference)],
      ['secrets', diff.secrets.map(formatDifference)],
      ['files', diff.files.map((file) => signed(file, visible(file.key)))],
    ],
  );
}

function headline({ before, after, same_content }: BundleDiff): string {
  if (!same_content) return 'the bundles differ';
  const isPackedAlike = before.sha === null || after.sha === null || before.sha === after.sha;
  return isPackedAlike ? 'nothing differs' : 'the same files, packed in another way';
}

function labelLines({ name, version, sequence, env, sha }: BundleDiff['before']): string[] {
  return [
    `${visible(name)} ${visible(version)}, sequence ${sequence}, for environment ${env}`,
    ...(sha === null ? [] : [sha]),
  ];
}

function formatPart({ name, change, keys }: PartDifference): string[] {
  const sign = { added: '+', removed: '-', changed: '~' }[change];
  // what a removed service was is of no more interest
  const lines = change === 'removed' ? [] : keys.map((key) => `    ${formatDifference(key)}`);
  return [`${sign} ${visible(name)}`, ...lines];
}

function formatDifference(difference: Difference): string {
  const { key, before, after } = difference;
  const isTold = before !== null && after !== null && before !== after;
  const value = isTold ? changedParts(before, after).map(visible).join(' → ') : sideShown(difference);
  return signed(difference, `${visible(key)}: ${value}`);
}

function signed({ before, after }: Difference, text: string): string {
  if (before === null) return `+ ${text}`;
  return after === null ? `- ${text}` : `~ ${text}`;
}

/** Characters of long values that are shown before and after the part that differs. */
const contextCharacters = 40;
const longCharacters = 200;

/** Two values; of long ones only the part that differs, whole, with some text around it. */
function changedParts(before: string, after: string): [string, string] {
  const shorter = Math.min(before.length, after.length);
  if (Math.max(before.length, after.length) <= longCharacters) return [before, after];
  let [start, same] = [0, 0];
  while (start < shorter && before[start] === after[start]) start++;
  while (same < shorter - start && before.at(-1 - same) === after.at(-1 - same)) same++;
  const from = Math.max(0, start - contextCharacters);
  const left = Math.max(0, same - contextCharacters);
  const part = (text: string) => `${from > 0 ? '…' : ''}${text.slice(from, text.length - left)}${left > 0 ? '…' : ''}`;
  return [part(before), part(after)];
}

function sideShown({ before, after }: Difference): string {
  return visible(after ?? before ?? '');
}

/** Text of a bundle on one line, without characters that move the cursor or reorder what is shown. */
function visible(text: string): string {
  const safe = text.replace(/[\p{C}\u2028\u2029]/gu, '\ufffd');
  return safe.length > maxCharacters ? `${safe.slice(0, maxCharacters)}… (${safe.length} characters)` : safe;
}
