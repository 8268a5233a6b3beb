import { execFile } from 'node:child_process';
import { join } from 'node:path';

/** A program and its environment; compose is `docker compose`, or the path of one. */
interface Program {
  argv: readonly [string, ...string[]];
  env: Readonly<Record<string, string | undefined>>;
}

/** A compose 2.20 or newer. */
export interface ComposeProgram extends Program {
  /** The first number of its version. */
  major: number;
}

/** Finds a compose: the named program, else `docker compose`, else `docker-compose`. Null if there is none. */
export async function findCompose(named: string | null, env: Program['env']): Promise<ComposeProgram | null> {
  const candidates: Program['argv'][] = named === null ? [['docker', 'compose'], ['docker-compose']] : [[named]];
  for (const argv of candidates) {
    const ran = await runProgram({ argv, env }, ['version', '--short'], { cwd: '/', env: {} });
    const [major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(ran.text)?.slice(1).map(Number) ?? [];
    if (ran.isDone && (major > 2 || (major === 2 && minor >= 20))) return { argv, env, major };
  }
  return null;
}

/** Names of the volumes and networks on the engine that `docker` uses; null if it does not answer. */
export async function namesOnEngine(env: Program['env']): Promise<ReadonlySet<string> | null> {
  const kinds = ['volume', 'network'].map((kind) =>
    runProgram({ argv: ['docker'], env }, [kind, 'ls', '--format', '{{.Name}}'], { cwd: '/', env: {} }),
  );
  const runs = await Promise.all(kinds);
  return runs.every((run) => run.isDone) ? new Set(runs.flatMap((run) => run.text.split('\n'))) : null;
}

/** How a run of a program ended. */
export interface Run {
  isDone: boolean;
  /** Standard output, or the last line of standard error. */
  text: string;
  /** Standard error. */
  log: string;
}

const timeout = 60_000;
const maxBuffer = 2 ** 26;
const kept = 'PATH HOME DOCKER_CONFIG DOCKER_CLI_PLUGIN_EXTRA_DIRS XDG_RUNTIME_DIR DOCKER_HOST DOCKER_CONTEXT'.split(
  ' ',
);

/** Runs a program with its own configuration and `env`, but nothing else of the caller's environment. */
export async function runProgram(
  { argv: [program, ...first], env: outer }: Program,
  args: readonly string[],
  { cwd, env, input = '' }: { cwd: string; env: Record<string, string>; input?: string },
): Promise<Run> {
  const own = Object.fromEntries(kept.flatMap((name) => (outer[name] === undefined ? [] : [[name, outer[name]]])));
  const config = outer['HOME'] === undefined ? {} : { DOCKER_CONFIG: join(outer['HOME'], '.docker') };
  return new Promise((resolve) => {
    const options = { cwd, env: { ...config, ...own, ...env, PWD: cwd }, timeout, maxBuffer };
    try {
      const child = execFile(program, [...first, ...args], options, (error, stdout, stderr) => {
        const failed = stderr.trim().split('\n').at(-1) || `${program} ${error?.code ?? 'failed'}`;
        resolve({ isDone: error === null, text: error === null ? stdout : failed, log: stderr });
      });
      child.stdin?.on('error', () => undefined).end(input);
    } catch (error) {
      resolve({ isDone: false, text: (error as Error).message, log: '' });
    }
  });
}
