import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { printable } from '../../core/text.rules.ts';
import type { ImportedBundle } from './importProject.rules.ts';
import { masked } from './importWork.rules.ts';
import { type Difference, modelOf, placesInProject, unreportedDifferences } from './reported.rules.ts';

/** A compose program: `docker compose`, or the path of one. */
export interface ComposeProgram {
  argv: readonly [string, ...string[]];
  env: Readonly<Record<string, string | undefined>>;
}

/** The oldest compose whose model is compared. */
const oldest = [2, 20];
const timeoutMs = 60_000;
const maxBytes = 2 ** 26;

/** Finds a compose of version 2.20 or newer: the named program, else `docker compose`, else `docker-compose`. Null if there is none. */
export async function findCompose(named: string | null, env: ComposeProgram['env']): Promise<ComposeProgram | null> {
  const candidates: ComposeProgram['argv'][] = named === null ? [['docker', 'compose'], ['docker-compose']] : [[named]];
  for (const argv of candidates) {
    const program = { argv, env };
    const ran = await runCompose(program, ['version', '--short'], { cwd: '/', env: {} });
    const [major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(ran.text)?.slice(1).map(Number) ?? [];
    if (ran.isDone && (major > (oldest[0] ?? 0) || (major === oldest[0] && minor >= (oldest[1] ?? 0)))) return program;
  }
  return null;
}

/** Names of the volumes and networks on the engine that `docker` uses; null if it does not answer. */
export async function namesOnEngine(env: ComposeProgram['env']): Promise<ReadonlySet<string> | null> {
  const docker: ComposeProgram = { argv: ['docker'], env };
  const kinds = ['volume', 'network'].map((kind) =>
    runCompose(docker, [kind, 'ls', '--format', '{{.Name}}'], { cwd: '/', env: {} }),
  );
  const runs = await Promise.all(kinds);
  return runs.every((run) => run.isDone) ? new Set(runs.flatMap((run) => run.text.split('\n'))) : null;
}

interface Run {
  isDone: boolean;
  /** Standard output, or the last line of standard error. */
  text: string;
}

/** Runs compose with its own configuration and `env`, but nothing else of the caller's environment. */
async function runCompose(
  { argv: [program, ...first], env: outer }: ComposeProgram,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<Run> {
  const kept = [
    'PATH',
    'HOME',
    'DOCKER_CONFIG',
    'DOCKER_CLI_PLUGIN_EXTRA_DIRS',
    'XDG_RUNTIME_DIR',
    'DOCKER_HOST',
    'DOCKER_CONTEXT',
  ];
  const own = Object.fromEntries(kept.flatMap((name) => (outer[name] === undefined ? [] : [[name, outer[name]]])));
  const config = outer['HOME'] === undefined ? {} : { DOCKER_CONFIG: join(outer['HOME'], '.docker') };
  return new Promise((resolve) => {
    const options = { cwd, env: { ...config, ...own, ...env, PWD: cwd }, timeout: timeoutMs, maxBuffer: maxBytes };
    try {
      const child = execFile(program, [...first, ...args], options, (error, stdout, stderr) => {
        if (error === null) resolve({ isDone: true, text: stdout });
        else
          resolve({ isDone: false, text: stderr.trim().split('\n').at(-1) || `${program} ${error.code ?? 'failed'}` });
      });
      child.stdin?.end();
    } catch (error) {
      resolve({ isDone: false, text: (error as Error).message });
    }
  });
}

/** A project, and a bundle of it on the disk, to be compared. */
export interface Comparison {
  compose: ComposeProgram;
  /** Directory of the project, its files if they were named, and its env file if it was. */
  source: { directory: string; files: readonly string[]; envFile: string | null };
  /** Values that the operator chose; they take precedence over values of the project. */
  chosen: ReadonlyMap<string, string>;
  /** Directory of the bundle. */
  directory: string;
  bundle: ImportedBundle;
}

/**
 * Lets compose read the project and the bundle with the same values, and returns each difference that the report of the
 * import does not name. A project or bundle that compose cannot read is a difference, too.
 */
export async function compareMeaning(comparison: Comparison): Promise<Difference[]> {
  const [first, ...rest] = await differencesWith('', comparison);
  const isUnread = first?.key === 'compose' && rest.length === 0;
  return isUnread ? differencesWith(standIn, comparison) : [...(first === undefined ? [] : [first]), ...rest];
}

/** Compares with a value for secrets that are empty in the project, which may demand one (`${NAME:?}`). */
async function differencesWith(
  empty: string,
  { compose, source, chosen, bundle, directory }: Comparison,
): Promise<Difference[]> {
  const [root, out] = [realpathSync(source.directory), realpathSync(directory)];
  const home = chosen.get('HOME') ?? '/home/operator-of-the-project';
  const names = bundle.manifest.secrets.map((secret) => secret.var);
  const values = [...Object.entries(bundle.manifest.variables ?? {}), ...names.map((name) => [name, standIn] as const)];
  const lacksValue = (value: string | null) => value === null || (value === '' && empty !== '');
  const given = new Map(values.filter(([name, value]) => value !== '' && lacksValue(bundle.valueOf(name))));
  const secrets = new Map(names.map((name) => [name, (bundle.valueOf(name) ?? standIn) || empty]));
  const hidden = (text: string) => [...secrets.values()].reduce(withoutSecret, masked(printable(text)));
  const unread = (owner: string, text: string) => [{ owner, key: 'compose', what: `cannot read it: ${hidden(text)}` }];
  const projectName = `deployd-${bundle.manifest.env}`;
  const read = (cwd: string, flags: readonly string[], env: Record<string, string>) =>
    runCompose(compose, ['-p', projectName, '--profile', '*', ...flags, 'config', '--format', 'json'], {
      ...{ cwd, env: { HOME: home, ...env } },
    });
  const envFlags = source.envFile === null ? [] : ['--env-file', source.envFile];
  const before = await read(root, [...envFlags, ...fileFlags(source.files)], {
    ...Object.fromEntries(given),
    ...Object.fromEntries(chosen),
  });
  if (!before.isDone) return unread('project', before.text);
  const ownFlags = ['--project-directory', out, '--env-file', '/dev/null'];
  const after = await read(out, [...ownFlags, ...fileFlags(bundle.manifest.compose)], {
    ...bundle.manifest.variables,
    ...Object.fromEntries(secrets),
  });
  if (!after.isDone) return unread('bundle', after.text);
  const toProject = placesInProject(bundle.copies, { out, root });
  const models = { before: modelOf(before.text, withoutDots), after: modelOf(after.text, toProject) };
  const differences = unreportedDifferences(models, bundle.report, { projectName, root, home });
  return differences.map(({ owner, key, what }) => ({ owner, key, what: hidden(what) }));
}

function fileFlags(files: readonly string[]): string[] {
  return files.flatMap((file) => ['-f', file]);
}

const standIn = 'a value';

/** Some versions of compose leave `..` in paths. */
function withoutDots(text: string): string {
  return text.startsWith('/') && text.includes('/../') ? normalize(text) : text;
}

function withoutSecret(text: string, secret: string): string {
  return secret.length < 3 || secret === standIn ? text : text.replaceAll(secret, '…');
}
