import { execFile } from 'node:child_process';
import { join } from 'node:path';

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

/** How a run of compose ended. */
export interface Run {
  isDone: boolean;
  /** Standard output, or the last line of standard error. */
  text: string;
  /** Standard error. */
  log: string;
}

/** Runs compose with its own configuration and `env`, but nothing else of the caller's environment. */
export async function runCompose(
  { argv: [program, ...first], env: outer }: ComposeProgram,
  args: readonly string[],
  { cwd, env, input = '' }: { cwd: string; env: Record<string, string>; input?: string },
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
        const text =
          error === null ? stdout : stderr.trim().split('\n').at(-1) || `${program} ${error.code ?? 'failed'}`;
        resolve({ isDone: error === null, text, log: stderr });
      });
      child.stdin?.on('error', () => undefined).end(input);
    } catch (error) {
      resolve({ isDone: false, text: (error as Error).message, log: '' });
    }
  });
}
