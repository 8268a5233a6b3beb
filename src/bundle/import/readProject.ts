import { realpathSync } from 'node:fs';
import { normalize } from 'node:path';
import { printable, visible } from '../../core/text.rules.ts';
import { type ComposeProgram, type Run, runProgram } from './composeProgram.ts';
import type { ImportedBundle, ReadProject } from './importProject.rules.ts';
import { directoryOf, masked, type ProjectTree, unescapeDollars } from './importWork.rules.ts';
import { isSecretName, isSecretValue } from './secretSigns.rules.ts';
import { markersFor, ownNames, searchTexts } from './templates.rules.ts';
import { modelOf, partAt } from './model.rules.ts';
import { type Difference, placesInProject, unreportedDifferences } from './reported.rules.ts';

/** A compose project on the disk. */
export interface ProjectSource {
  directory: string;
  /** Its compose files, if they were named. */
  files: readonly string[];
  /** Its env file, if it was named. */
  envFile: string | null;
  /** The profiles to read; null for all. */
  profiles: readonly string[] | null;
  /** Values that the operator chose; they take precedence over values of the project. */
  chosen: ReadonlyMap<string, string>;
}

/** A project with its name and profiles. */
export interface FoundProject extends ReadProject {
  /** The name that compose gives the project. */
  name: string;
  /** Profiles that `COMPOSE_PROFILES` chooses. */
  profiles: string[];
}

/** The home of the operator, as compose reads `~`. */
function homeOf({ chosen }: Pick<ProjectSource, 'chosen'>): string {
  return chosen.get('HOME') ?? '/home/operator-of-the-project';
}

/** Where compose looks for the values of variables. */
export function envFileOf({ envFile, files }: Pick<ProjectSource, 'envFile' | 'files'>): string {
  return envFile ?? `${files.length === 0 ? '' : `${directoryOf(files[0] ?? '.')}/`}.env`.replace(/^\.\//, '');
}

const defaultName = /^(docker-)?compose(\.override)?\.ya?ml$/;

/** Reads a project for an environment by compose; a problem if compose cannot. */
export async function readProject(
  compose: ComposeProgram,
  source: ProjectSource,
  tree: ProjectTree,
  { env, isSecret }: { env: string; isSecret: (name: string) => boolean },
): Promise<FoundProject | { problem: string }> {
  const found = tree.filesBelow('.')?.flatMap(({ path }) => (defaultName.test(path) ? [path] : [])) ?? [];
  const texts = searchTexts(source.files.length > 0 ? source.files : found, envFileOf(source), tree);
  const values = await valuesOf(compose, source, texts.names);
  if ('problem' in values) return values;
  const lacksValue = (name: string) => (values.get(name) ?? '') === '';
  const demanded = new Set([...texts.demanded, ...texts.withoutDefault.filter(isSecret)].filter(lacksValue));
  const given = Object.fromEntries([...demanded].map((name) => [name, standIn]));
  const read = readerOf(compose, source);
  const render = (markers: Markers) => {
    const marked = Object.fromEntries(markers.map(([marker, name]) => [name, marker]));
    return read(['-p', `deployd-${env}`, ...profileFlags(source)], { ...given, ...marked });
  };
  const [actual, plain] = await Promise.all([render([]), read(profileFlags(source), given, ['--no-path-resolution'])]);
  if (!actual.isDone) return { problem: problemOf(actual, source, values) + exampleOf(actual, tree) };
  const model = modelOf(actual.text, compose.major);
  if (Object.keys(model.services).length === 0) return { problem: 'no compose file has a service' };
  const names = texts.names.filter((name) => !ownNames.test(name));
  const valueOf = (name: string) => values.get(name) || texts.defaults.get(name) || '';
  const all = markersFor(names, valueOf, [...texts.texts.values(), ...values.values(), actual.text]);
  const { run, markers } = await acceptedMarkers([...all], render);
  const marked = run === null ? model : modelOf(run.text, compose.major);
  const set = markers.filter(([, name]) => !lacksValue(name));
  const known = set.length < markers.length ? await render(set) : null;
  return {
    ...texts,
    name: plain.isDone ? (JSON.parse(plain.text) as { name: string }).name : `deployd-${env}`,
    profiles: (values.get('COMPOSE_PROFILES') ?? '').split(',').flatMap((name) => name.trim() || []),
    renderings: {
      ...{ actual: model, marked, values, demanded },
      known: known?.isDone === true ? modelOf(known.text, compose.major) : marked,
      plain: plain.isDone ? modelOf(plain.text, compose.major) : model,
      markers: new Map(markers),
      unmarked: names.filter((name) => !markers.some(([, one]) => one === name)),
      open: new Set(unsetIn(actual)),
      root: realpathSync(source.directory),
      home: source.chosen.has('HOME') ? null : homeOf(source),
      own: ownValues(compose, source, texts.names),
    },
  };
}

/** Variables that nothing sets, and that have no default. */
function unsetIn({ log }: Run): string[] {
  return [...new Set([...log.matchAll(/The \\?"(\w+)\\?" variable is not set/g)].map(([, name = '']) => name))];
}

/** Why compose cannot read a project, without values of secrets; variables without a value are often the cause. */
function problemOf(run: Run, { directory }: ProjectSource, values: ReadonlyMap<string, string>): string {
  const secrets = [...values].filter(([name, value]) => isSecretName(name) || isSecretValue(value));
  const shown = withoutSecrets(
    run.text.replaceAll(`${realpathSync(directory)}/`, ''),
    secrets.map(([, value]) => value),
  );
  const text = masked(visible(shown)).slice(0, maxCharacters);
  const unset = unsetIn(run).map((name) => `--variable ${name}=VALUE`);
  return unset.length === 0 ? text : `${text} (without a value: ${unset.join(', ')})`;
}

const maxCharacters = 1000;

/** The example of a missing `.env`. */
function exampleOf({ text }: Run, tree: ProjectTree): string {
  const examples = ['example', 'sample', 'template', 'dist'].map((kind) => `.env.${kind}`);
  const found = /\.env not found/.test(text) ? examples.find((path) => tree.kindOf(path) === 'file') : undefined;
  return found === undefined ? '' : `; ${found} is an example of .env: copy it, and set its values`;
}

function profileFlags({ profiles }: ProjectSource): string[] {
  return (profiles ?? ['*']).flatMap((name) => ['--profile', name]);
}

/** Values that compose takes from its operator. They differ on each host. */
function ownValues({ env }: ComposeProgram, source: ProjectSource, names: readonly string[]): Map<string, string> {
  const home = source.chosen.has('HOME') ? {} : { HOME: homeOf(source) };
  const all = { PWD: realpathSync(source.directory), PATH: env['PATH'] ?? '', ...home };
  return new Map(Object.entries(all).filter(([name, value]) => value !== '' && names.includes(name)));
}

/** The value of a variable that has none: a port, a number and a text. */
const standIn = '1';

/** Lets compose print the model of a project, with flags, variables and options of `config`. */
type Reader = (flags: readonly string[], env: Record<string, string>, more?: readonly string[]) => Promise<Run>;

/** Reads a project by compose; `input` is its standard input. */
function readerOf(compose: ComposeProgram, source: ProjectSource, input = ''): Reader {
  const { directory, files, envFile, chosen } = source;
  const named = [...(envFile === null ? [] : ['--env-file', envFile]), ...files.flatMap((file) => ['-f', file])];
  const fixed = { HOME: homeOf(source), ...Object.fromEntries(chosen) };
  const cwd = realpathSync(directory);
  return (flags, env, more = []) => {
    const args = [...flags, ...named, 'config', '--format', 'json', ...more];
    return runProgram(compose, args, { cwd, input, env: { ...fixed, ...env } });
  };
}

/** The values of variables in a project, as compose takes them from env files and the operator. */
async function valuesOf(
  compose: ComposeProgram,
  source: ProjectSource,
  names: readonly string[],
): Promise<Map<string, string> | { problem: string }> {
  const asked = [...new Set([...names.filter((name) => !ownNames.test(name)), 'COMPOSE_FILE', 'COMPOSE_PROFILES'])];
  const probe = { image: 'x', network_mode: 'none', environment: asked };
  const ask = async (directory: string) => {
    const read = readerOf(compose, { ...source, files: [] }, JSON.stringify({ services: { probe } }));
    const run = await read(['--project-directory', directory, '-f', '-'], {});
    if (!run.isDone) throw new Error(run.text);
    const environment = partAt(JSON.parse(run.text), 'services', 'probe', 'environment');
    return Object.entries(environment).flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, unescapeDollars(value as string)]],
    );
  };
  try {
    const first = await ask(directoryOf(source.files[0] ?? 'compose.yaml'));
    const [file = ''] = (new Map(first).get('COMPOSE_FILE') ?? '').split(/[:;]/);
    const isNamed = source.files.length > 0 || source.envFile !== null || file === '';
    const isElsewhere = !isNamed && directoryOf(file) !== '.';
    return new Map([...(isElsewhere ? await ask(directoryOf(file)) : []), ...first]);
  } catch (error) {
    return { problem: masked(visible((error as Error).message)) };
  }
}

/** Most renderings that look for the variables in whose places compose accepts no marker. */
const maxTries = 24;

type Markers = readonly [marker: string, name: string][];
type Marked = { run: Run | null; markers: Markers };

/** As many markers as compose accepts, and what it makes of them. Most of its errors quote the marker; else halves are tried. */
async function acceptedMarkers(all: Markers, render: (markers: Markers) => Promise<Run>): Promise<Marked> {
  let tries = 0;
  const accept = async (some: Markers): Promise<Marked> => {
    if (some.length === 0 || ++tries > maxTries) return { run: null, markers: [] };
    const run = await render(some);
    if (run.isDone) return { run, markers: some };
    const rest = some.filter(([marker]) => !run.log.includes(marker));
    if (rest.length < some.length) return accept(rest);
    if (some.length === 1) return { run: null, markers: [] };
    const half = Math.ceil(some.length / 2);
    const [left, right] = [await accept(some.slice(0, half)), await accept(some.slice(half))];
    if (left.run === null || right.run === null) return left.run === null ? right : left;
    return accept([...left.markers, ...right.markers]);
  };
  return accept(all);
}

/** A project, and a bundle of it on the disk, to be compared. */
export interface Comparison {
  compose: ComposeProgram;
  source: ProjectSource;
  /** Directory of the bundle. */
  directory: string;
  bundle: ImportedBundle;
}

/**
 * Lets compose read the project and the bundle with the same values, and returns each difference that the report of the
 * import does not name. A project or bundle that compose cannot read is a difference, too.
 */
export async function compareMeaning({ compose, source, bundle, directory }: Comparison): Promise<Difference[]> {
  const { manifest, valueOf, demanded } = bundle;
  const lacksValue = (name: string) => valueOf(name) === null || (valueOf(name) === '' && demanded.has(name));
  const names = manifest.secrets.map((secret) => secret.var);
  const secrets = Object.fromEntries(names.map((name) => [name, lacksValue(name) ? standIn : (valueOf(name) ?? '')]));
  const values = { ...manifest.variables, ...secrets };
  const missing = Object.fromEntries([...demanded].map((name) => [name, standIn]));
  const given = Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== '' && lacksValue(name)));
  const hidden = (text: string) => withoutSecrets(masked(printable(text)), Object.values(secrets));
  const unread = (owner: string, text: string) => [{ owner, key: 'compose', what: `cannot read it: ${hidden(text)}` }];
  const projectName = `deployd-${manifest.env}`;
  const flags = ['-p', projectName, ...profileFlags(source)];
  const before = await readerOf(compose, source)(flags, { ...missing, ...given });
  if (!before.isDone) return unread('project', before.text);
  const [root, out] = [realpathSync(source.directory), realpathSync(directory)];
  const written = { ...source, directory: out, files: manifest.compose, envFile: '/dev/null' };
  const own = ['--project-directory', out];
  const after = await readerOf(compose, written)([...flags, ...own], { ...missing, ...values });
  if (!after.isDone) return unread('bundle', after.text);
  const models = {
    before: modelOf(before.text, compose.major, withoutDots),
    after: modelOf(after.text, compose.major, placesInProject(bundle.paths, { out, root })),
  };
  const differences = unreportedDifferences(models, { ...bundle, projectName });
  return differences.map((difference) => ({ ...difference, what: hidden(difference.what) }));
}

/** Some versions of compose leave `..` in paths. */
function withoutDots(text: string): string {
  return text.startsWith('/') && text.includes('/../') ? normalize(text) : text;
}

/** A text with an ellipsis in place of each secret of three characters or more. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => (secret.length < 3 ? shown : shown.replaceAll(secret, '…')), text);
}
