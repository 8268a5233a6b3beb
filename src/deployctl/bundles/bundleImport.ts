import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { formatRefusal, type Refusal } from '../../../machines/refusals.ts';
import { formatLeftOut, type LeftOut } from '../../bundle/archive/leftOut.rules.ts';
import {
  type DiskProject,
  isFree,
  judgeImportedBundle,
  markUnfinished,
  openDiskProject,
  writeImportedBundle,
} from '../../bundle/import/importBundle.ts';
import { type ComposeProgram, findCompose, namesOnEngine } from '../../bundle/import/composeProgram.ts';
import { compareMeaning, envFileOf, type ProjectSource, readProject } from '../../bundle/import/readProject.ts';
import type { Difference } from '../../bundle/import/reported.rules.ts';
import { isSecretName } from '../../bundle/import/secretSigns.rules.ts';
import {
  type ImportedBundle,
  importedImages,
  importProject,
  type ImportVerdict,
  permitLines,
  secretLines,
  shellWord,
} from '../../bundle/import/importProject.rules.ts';
import type { ImportChoices, Renamed } from '../../bundle/import/importWork.rules.ts';
import { partAt } from '../../bundle/import/model.rules.ts';
import { readManifestText } from '../../bundle/readBundle.ts';
import { diskFault } from '../../core/errors.rules.ts';
import { send } from '../../core/httpClient.ts';
import { untrustedOf } from '../../core/certificateAuthorities.ts';
import { closeAgents } from '../../core/connector.ts';
import { certificateCure, systemAuthorities } from '../../core/untrusted.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { defaultLimits as limits } from '../../api/checkIn.rules.ts';
import { parseManifest } from '../../api/manifest.rules.ts';
import { type Login, pinImages, type RegistryAccess, RegistryError } from '../../registry/repository.ts';
import { contextOf } from '../config/connection.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { timeout } from '../core/client.ts';
import { createProxyAgents } from '../core/proxyAgents.ts';
import { CtlError, exits, usageError, withBundleFaults } from '../core/ctlError.ts';
import { collectOption, envOf } from '../core/input.ts';
import { formatFacts, harmless } from '../core/table.ts';

export interface ImportOptions {
  env: string;
  out?: string;
  name?: string;
  file?: string[];
  profile?: string[];
  envFile?: string;
  compose?: string;
  check?: boolean;
  image?: [string, string][];
  pin?: boolean;
  keepVolumes?: boolean;
  secret?: string[];
  variable?: [string, string | null][];
}

const { signal } = new AbortController();

/** `deployctl bundle import`. */
export function addBundleImport(bundle: Command, run: Run): void {
  bundle
    .command('import')
    .description('Turn a compose project into a bundle, and list the changes and open decisions')
    .argument('<source>', 'directory of the project, or its compose file')
    .option('--env <env>', 'environment of the bundle (default: the only one of the service)')
    .option('--out <directory>', 'directory to create (default: NAME-bundle)')
    .option('--name <name>', 'name of the bundle (default: the project name)')
    .option(
      '-f, --file <file>',
      'compose file below the source (default: the files that compose finds); repeatable',
      collectOption,
    )
    .option('--profile <profile>', 'profile to enable (default: COMPOSE_PROFILES); repeatable', collectOption)
    .option('--env-file <file>', 'file with variables, below the source directory (default: .env)')
    .option('--check', 'compare the bundle in the directory of --out with the project again')
    .option('--compose <program>', 'program to compare them with (default: docker compose, then docker-compose)')
    .option('--image <service=reference>', 'image to use instead of building a service; repeatable', collectPair)
    .option('--pin', 'pin each image to the digest that its registry has now')
    .option('--keep-volumes', 'use the volumes of the running project, as external ones')
    .option('--secret <name>', 'variable that is a secret; repeatable', collectOption)
    .option(
      '--variable <name[=value]>',
      'variable or file that is not a secret, with its value; repeatable',
      collectVariable,
    )
    .action(
      run(async (session, operands: [string], options: Omit<ImportOptions, 'env'> & { env?: string }) =>
        importBundle(session, operands, { ...options, env: await envOf(session, options.env) }),
      ),
    );
}

export async function importBundle(session: Session, [path]: [string], options: ImportOptions): Promise<Result> {
  return withBundleFaults(async () => {
    const compose = await composeOf(options, session);
    const source = await readSource(path, options, compose);
    const { project, target, read } = source;
    if (options.check === true)
      return checkBundle({ ...source, bundle: await writtenBundle(source, options) }, compose);
    if (!(await isFree(target)))
      throw usageError(
        'FILE_EXISTS',
        `${target} is there already`,
        'name another directory by --out: nothing is overwritten',
      );
    const bundle = options.pin === true ? await pinned(source, session) : source.bundle;
    await writeImportedBundle(target, { bundle, project }, signal);
    const differences = await compareAndMark({ ...source, bundle }, compose);
    const verdict = await judgeImportedBundle(target, limits, signal);
    const { manifest, composeFiles, copies, report } = bundle;
    const existing = report.renamed.length === 0 ? null : await namesOnEngine(session.io.env);
    const renamed = report.renamed.map((one) =>
      one.kind === 'directory' && !one.from.startsWith('~') ? { ...one, from: resolve(read.directory, one.from) } : one,
    );
    const imported = { directory: target, source: read.directory, bundle, differences, renamed, existing, ...verdict };
    const isDone = [report.undecided, verdict.plan.refusals, differences].every((list) => list.length === 0);
    const files = ['manifest.json', ...composeFiles.keys(), ...copies.keys()];
    const leftOut = { count: project.leftOut.size, paths: [...project.leftOut] };
    return {
      json: { directory: target, manifest, files, left_out: leftOut, ...report, renamed, differences, ...verdict },
      text: formatImport(imported, leftOut),
      exit: isDone ? exits.done : exits.failed,
    };
  });
}

async function composeOf({ compose: named }: ImportOptions, { io }: Session): Promise<ComposeProgram> {
  const found = await findCompose(named ?? null, io.env);
  if (found !== null) return found;
  throw usageError(
    'COMPOSE_MISSING',
    `${named ?? 'docker compose'} is not Docker Compose 2.20 or newer, which reads the project`,
    'install the plugin as https://docs.docker.com/compose/install/linux/ describes, or name a docker-compose by --compose',
  );
}

/** Compares a written bundle with its project, and marks it while they differ, so that it cannot be packed. */
async function compareAndMark(source: Source, compose: ComposeProgram): Promise<Difference[]> {
  const { target, bundle, read } = source;
  const differences = await compareMeaning({ compose, source: read, directory: target, bundle });
  await markUnfinished(target, differences.map(differenceLine));
  return differences;
}

async function checkBundle(source: Source, compose: ComposeProgram): Promise<Result> {
  const differences = await compareAndMark(source, compose);
  const lines = differences.map((difference) => harmless(differenceLine(difference)));
  return {
    json: { directory: source.target, differences },
    text: differences.length === 0 ? 'the bundle means the same as the project' : lines.join('\n'),
    exit: differences.length === 0 ? exits.done : exits.failed,
  };
}

/** The bundle with the manifest that its directory has now. */
async function writtenBundle({ bundle, target }: Source, { env }: ImportOptions): Promise<ImportedBundle> {
  const text = await readManifestText(target);
  const parsed = text === null ? null : parseManifest(text, env);
  if (parsed === null) throw usageError('DIRECTORY_INVALID', `${target} has no manifest`, 'import the project first');
  if ('refusal' in parsed) throw usageError(parsed.refusal.code, parsed.refusal.detail);
  const { compose, variables, secrets } = parsed.manifest;
  return { ...bundle, manifest: { ...bundle.manifest, compose, variables, secrets } };
}

function differenceLine({ owner, key, what }: Difference): string {
  return `${owner}: ${key === '' ? '' : `${key}: `}${what}`;
}

/** The project's directory, and the compose file that was named. */
async function placesOf(source: string): Promise<{ directory: string; file: string | null }> {
  const path = resolve(source);
  const stats = await stat(path).catch((error: unknown) => {
    throw diskFault('read', path, error);
  });
  return stats.isDirectory() ? { directory: path, file: null } : { directory: dirname(path), file: basename(path) };
}

/** A project that was read, and the bundle that it makes. */
interface Source {
  bundle: ImportedBundle;
  project: DiskProject;
  /** The bundle's directory. */
  target: string;
  /** The project as compose gets it. */
  read: ProjectSource;
  /** Makes the bundle again, with these pins. */
  importAgain: (pins: ImportChoices['pins']) => ImportedBundle;
}

async function readSource(path: string, options: ImportOptions, compose: ComposeProgram): Promise<Source> {
  const { directory, file } = await placesOf(path);
  const { env, variable = [], secret = [], image = [], profile, keepVolumes = false } = options;
  const inProject = (one: string) => relative(directory, resolve(directory, one)) || '.';
  const variables = new Map(variable);
  const secrets = new Set(secret);
  const all: ProjectSource = {
    ...{ directory, profiles: null },
    files: options.file?.map(inProject) ?? (file === null ? [] : [file]),
    envFile: options.envFile === undefined ? null : inProject(options.envFile),
    chosen: new Map(variable.flatMap(([key, value]) => (value === null ? [] : [[key, value]]))),
  };
  const validate = (manifest: object) => {
    const parsed = parseManifest(JSON.stringify(manifest), env);
    if ('refusal' in parsed) throw usageError(parsed.refusal.code, parsed.refusal.detail);
  };
  validate({ ...{ schema: 1, name: 'x', env, version: '1', sequence: 1, secrets: [] }, compose: ['compose.yaml'] });
  const out = options.out === undefined ? null : resolve(options.out);
  const project = openDiskProject(directory, out ?? '');
  const isSecret = (key: string) => secrets.has(key) || (isSecretName(key) && !variables.has(key));
  const whole = await readProject(compose, all, project, { env, isSecret });
  // Services of profiles that exclude each other may share a name or a port.
  const read = 'problem' in whole ? { ...all, profiles: profile ?? [] } : all;
  const found = 'problem' in whole ? await readProject(compose, read, project, { env, isSecret }) : whole;
  if ('problem' in found) {
    const message = `compose cannot read the project: ${found.problem}`;
    throw new CtlError({ exit: exits.failed, code: 'SOURCE_INVALID', message });
  }
  const name = options.name ?? found.name;
  const envFile = envFileOf(read);
  const unread = 'problem' in whole ? { unread: whole.problem } : {};
  const choices: ImportChoices = {
    ...{ name, env, keepVolumes, envFile, projectName: found.name, images: new Map(image), secrets, variables },
    profiles: profile
      ? { names: profile, by: '--profile', ...unread }
      : { names: found.profiles, by: `COMPOSE_PROFILES of ${envFile}`, ...unread },
  };
  const importAgain = (pins: ImportChoices['pins']) =>
    importProject(found, project, { ...choices, ...(pins && { pins }) });
  const bundle = importAgain(undefined);
  validate(bundle.manifest);
  return { bundle, project, target: out ?? resolve(`${name}-bundle`), read, importAgain };
}

async function pinned({ bundle, importAgain }: Source, { io }: Session): Promise<ImportedBundle> {
  const registries = openRegistries(io.env);
  try {
    return importAgain(await pinImages(importedImages(bundle), registries));
  } finally {
    registries.close();
  }
}

function collectPair(text: string, previous: [string, string][] = []): [string, string][] {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must be SERVICE=REFERENCE.');
  return [...previous, [text.slice(0, at), text.slice(at + 1)]];
}

function collectVariable(text: string, previous: [string, string | null][] = []): [string, string | null][] {
  const at = text.indexOf('=');
  return [...previous, at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)]];
}

/** A bundle that was written, and everything that is known of it. */
interface Imported extends ImportVerdict {
  directory: string;
  /** Directory of the project. */
  source: string;
  bundle: ImportedBundle;
  differences: readonly Difference[];
  renamed: readonly Renamed[];
  /** Volumes and networks on this engine; null if none answers. */
  existing: ReadonlySet<string> | null;
}

/** Formats an imported bundle: the changes, the requirements, and the open decisions. */
function formatImport(imported: Imported, leftOut: LeftOut): string {
  const { directory, bundle, differences, permits, plan, start_first } = imported;
  const { manifest, composeFiles, copies, report } = bundle;
  const facts = formatFacts([
    ['bundle', `${manifest.name}, for environment ${manifest.env}`],
    ['directory', directory],
    ['compose files', [...composeFiles.keys()].join(', ')],
    ['profiles', manifest.profiles?.join(', ') ?? null],
    ['other files', copies.size === 0 ? null : String(copies.size)],
    ['left out', formatLeftOut(leftOut)],
  ]);
  const sections: [string, string[]][] = [
    ['changed', report.changes.map(({ owner, key, what, why }) => `${owner}: ${key}: ${what}: ${why}`)],
    ['profiles that are not chosen (--profile NAME chooses one)', report.inactive_profiles],
    ['variables', Object.entries(manifest.variables ?? {}).map(([name, value]) => `${name}=${value}`)],
    ['secrets to put', secretLines(bundle, imported.source)],
    [copyTitle, copyLines(imported)],
    ['networks with another name, which other projects must use', networkLines(imported)],
    ['permits that a host needs, in its config.yaml', permitLines(permits)],
    ['left to decide', report.undecided.map(({ owner, key, what, cure }) => `${owner}: ${key}: ${what} → ${cure}`)],
    ['differs from the project without a reason above; the bundle is not finished', differences.map(differenceLine)],
    [startFirstTitle, start_first.length === 0 ? [] : [start_first.join(', ')]],
    ['refused', plan.refusals.flatMap(refusalLines)],
  ];
  const told = sections.filter(([, lines]) => lines.length > 0);
  const verdict =
    plan.refusals.length === 0
      ? ['', permitLines(permits).length === 0 ? 'nothing is refused' : 'nothing is refused with these permits']
      : [];
  return [
    facts,
    ...told.flatMap(([title, lines]) => ['', title, ...lines.map((line) => `  ${harmless(line)}`)]),
    ...verdict,
    `next: ${nextStep(imported)}`,
  ].join('\n');
}

function refusalLines(refusal: Refusal): string[] {
  const each = refusal.faults?.map((fault) => ({ ...refusal, faults: [fault] })) ?? [refusal];
  return each.map((one) => `${refusal.code}: ${formatRefusal(one)}`);
}

const startFirstTitle = 'can be replaced without a pause, with deploy.update_config.order: start-first';

const copyTitle =
  'volumes that start empty: stop the project and copy its data on the host before the first apply, or use --keep-volumes';

function copyLines({ renamed, existing }: Imported): string[] {
  return renamed.flatMap(({ kind, from, to }) => {
    if (kind === 'network') return [];
    const isMissing = kind === 'volume' && existing?.has(from) === false;
    const note = isMissing ? `   # ${from} is not on this engine` : '';
    return [`docker run --rm -v ${shellWord(from)}:/from:ro -v ${to}:/to busybox cp -a /from/. /to/${note}`];
  });
}

function networkLines({ renamed, existing }: Imported): string[] {
  const found = renamed.filter(({ kind, from }) => kind === 'network' && existing?.has(from) !== false);
  return found.map(({ from, to }) => `${from} is ${to} now`);
}

function nextStep({ directory, bundle, differences, plan }: Imported): string {
  if (differences.length > 0) return 'correct the files, and compare again by the same command with --check';
  const isOpen = bundle.report.undecided.length + plan.refusals.length > 0;
  return isOpen ? `decide, remove ${directory}, and import again` : `deployctl bundle pack ${directory}`;
}

/** Access to image registries by the system's authorities and the logins of `docker login`. */
function openRegistries(environment: NodeJS.ProcessEnv): RegistryAccess & { close: () => void } {
  const agents = createProxyAgents(contextOf(null), environment);
  return {
    loginOf: readDockerLogins(environment),
    get: (url, headers) =>
      send({ url, method: 'GET', headers, agents, timeout, maxBytes }).catch((error: unknown) => {
        // got's errors hold the login
        const { code = 'no answer' } = error as NodeJS.ErrnoException;
        const untrusted = untrustedOf(error);
        const reason = untrusted && `${untrusted.problem}: ${certificateCure(untrusted, systemAuthorities)}`;
        throw new RegistryError(`${url.host} cannot be reached (${reason ?? code})`);
      }),
    close: () => closeAgents(agents),
  };
}

/** A manifest has some kilobytes; registries accept at most 4 MiB. */
const maxBytes = 4 * 2 ** 20;

/** The logins that `docker login` stored in its own file, by registry; logins in a credential helper are not found. */
export function readDockerLogins(environment: NodeJS.ProcessEnv): (registry: string) => Login | null {
  const config = readJson(join(environment['DOCKER_CONFIG'] ?? join(homedir(), '.docker'), 'config.json'));
  return (registry) => {
    const { auth } = partAt(config, 'auths', registry === 'docker.io' ? 'https://index.docker.io/v1/' : registry);
    const text = typeof auth === 'string' ? Buffer.from(auth, 'base64').toString('utf8') : '';
    const [, user, password] = /^([^:]+):(.*)$/s.exec(text) ?? [];
    return user === undefined || password === undefined ? null : { user, password };
  };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readRegularFile(file, maxBytes).toString('utf8'));
  } catch {
    return null;
  }
}
