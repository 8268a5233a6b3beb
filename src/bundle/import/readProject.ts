import { realpathSync } from 'node:fs';
import { visible } from '../../core/text.rules.ts';
import { type ComposeProgram, type Run, runProgram } from './composeProgram.ts';
import type { ReadProject } from './importProject.rules.ts';
import { directoryOf, masked, type ProjectTree, unescapeDollars } from './importWork.rules.ts';
import { isSecretName, isSecretValue } from './secretSigns.rules.ts';
import { markersFor, ownNames, searchTexts } from './templates.rules.ts';
import { modelOf, partAt } from './model.rules.ts';

/** A compose project on the disk. */
export interface ProjectSource {
  directory: string;
  /** Its compose files, if they were named. */
  files: readonly string[];
  /** Its env file, if it was named. */
  envFile: string | null;
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
export function homeOf({ chosen }: Pick<ProjectSource, 'chosen'>): string {
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
  const render = (markers: Markers) =>
    read(['-p', `deployd-${env}`, '--profile', '*'], { ...given, ...valuesByName(markers) });
  const [actual, plain] = await Promise.all([render([]), read(['--profile', '*'], given, ['--no-path-resolution'])]);
  if (!actual.isDone) return { problem: problemOf(actual, source, values) };
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
  const secrets = [...values].filter(([name, value]) => value !== '' && (isSecretName(name) || isSecretValue(value)));
  const shown = secrets.reduce((text, [, value]) => text.replaceAll(value, '…'), run.text);
  const text = masked(visible(shown))
    .replaceAll(`${realpathSync(directory)}/`, '')
    .slice(0, maxCharacters);
  const unset = unsetIn(run).map((name) => `--variable ${name}=VALUE`);
  return unset.length === 0 ? text : `${text} (without a value: ${unset.join(', ')})`;
}

const maxCharacters = 1000;

/** Values that compose takes from its operator. They differ on each host. */
function ownValues({ env }: ComposeProgram, source: ProjectSource, names: readonly string[]): Map<string, string> {
  const all: [string, string | undefined][] = [
    ['PWD', realpathSync(source.directory)],
    ['PATH', env['PATH']],
    ['HOME', source.chosen.has('HOME') ? undefined : homeOf(source)],
  ];
  return new Map(all.flatMap(([name, value]) => (value === undefined || !names.includes(name) ? [] : [[name, value]])));
}

/** A port, a number and a text. */
const standIn = '1';

/** Lets compose print the model of a project, with flags, variables and options of `config`. */
type Reader = (flags: readonly string[], env: Record<string, string>, more?: readonly string[]) => Promise<Run>;

/** Reads a project by compose; `input` is its standard input. */
export function readerOf(
  compose: ComposeProgram,
  { directory, files, envFile, chosen }: ProjectSource,
  input = '',
): Reader {
  const named = [...(envFile === null ? [] : ['--env-file', envFile]), ...files.flatMap((file) => ['-f', file])];
  const fixed = { HOME: homeOf({ chosen }), ...Object.fromEntries(chosen) };
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

const valuesByName = (markers: Markers) => Object.fromEntries(markers.map(([marker, name]) => [name, marker]));

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
