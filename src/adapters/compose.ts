import { lstatSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { failure, Fault, refused } from '../../machines/fault.ts';
import type { Settings } from '../config/settings.ts';
import type { Redactor } from '../secrets/redact.ts';
import { wipe } from '../secrets/wipe.ts';
import { diskFault, writeLazily } from './files.ts';
import { endOrphans } from './orphans.ts';
import { run, type Ran, type Run } from './process.ts';
import { limitsOf, type Limits } from './rlimits.ts';

/** A release as compose needs it: its real directory and the files in it, in order. */
export interface ComposeRelease {
  dir: string;
  files: string[];
}

/** Whether images that are not here may be fetched. */
export type Pull = 'never' | 'missing';

/** A registry login that lives for one compose call. */
export interface RegistryLogin {
  host: string;
  username: string;
  password: string;
}

export type Compose = ReturnType<typeof createCompose>;

/** By where the host's packages come from. */
const CURE =
  'install docker-compose-plugin (from Docker), docker-compose-v2 (Ubuntu) or docker-compose (Debian 13), or set compose:';
const OLDEST = [2, 20] as const;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const PROBE_TIMEOUT_S = 20;

/**
 * `docker compose` v2 for one project (spec §12.1): explicit files and project name, the release's real path, an
 * environment of its own, no stdin, never `-y`. A failing step throws the specification's line with the redacted tail.
 */
export function createCompose(
  settings: Settings,
  project: string,
  { redactor, limits = limitsOf(totalmem()) }: { redactor: () => Redactor; limits?: Limits | undefined },
) {
  const { pull_timeout_s, up_timeout_s, down_timeout_s } = settings;
  const dir = join(settings.state_dir, settings.env, 'docker-config');
  const { find, forget, call, step } = createRunner({ settings, project, redactor, dir, limits });
  return {
    /** Throws COMPOSE_UNSUPPORTED unless there is a compose v2 of at least 2.20. */
    probe: async (signal: AbortSignal): Promise<void> => {
      await find(signal);
    },

    /** Ends a look for compose that nobody waits for any more; the next call looks anew. */
    forget,

    pull: (release: ComposeRelease, logins: RegistryLogin[], signal: AbortSignal) =>
      withLogins(dir, logins, () =>
        step({ name: 'pull', args: ['--quiet'], release, timeoutS: pull_timeout_s }, signal),
      ),

    /**
     * What compose makes of the files and their `.env`, services of every profile included, as parsed JSON. It holds
     * secrets: nothing of it may be told. Throws COMPOSE_REFUSED where compose cannot read them.
     */
    model: (release: ComposeRelease, signal: AbortSignal) =>
      withLogins(dir, [], () => modelOf((hear) => call({ ...rendering, release, hear }, signal))),

    /** Makes what the release consists of, but for the services left out, and starts nothing; orphans go. */
    create: (release: ComposeRelease, made: Creation, signal: AbortSignal) =>
      withLogins(dir, [], () => step({ name: 'up', args: creationOf(made), release, timeoutS: up_timeout_s }, signal)),

    /** Starts what was created, as it is, in the order of its dependencies: everything, or these services alone. */
    up: (release: ComposeRelease, services: string[] | null, signal: AbortSignal) =>
      withLogins(dir, [], () => step({ name: 'up', args: startOf(services), release, timeoutS: up_timeout_s }, signal)),

    /** Takes the whole project down by its labels, no file needed; orphans go, volumes only with `volumes`. */
    down: (volumes: boolean, signal: AbortSignal) =>
      withLogins(dir, [], () => {
        const args = ['--remove-orphans', ...(volumes ? ['-v'] : [])];
        return step({ name: 'down', args, release: null, timeoutS: down_timeout_s }, signal);
      }),

    /** Ends and removes what a killed tick may have left: a compose at work (told by true), registry logins. */
    sweep: async (): Promise<boolean> => {
      const wasAtWork = await endOrphans(project, dir);
      await removeDir(dir);
      return wasAtWork;
    },
  };
}

/** How a release is made. */
interface Creation {
  pull: Pull;
  /** Services of which no container is to be. */
  without?: string[];
}

function creationOf({ pull, without = [] }: Creation): string[] {
  const none = without.flatMap((service) => ['--scale', `${service}=0`]);
  return ['--no-start', '--no-build', '--pull', pull, '--remove-orphans', ...none];
}

/** Compose 2.20 would wait for ever for a service of which there is to be no container. */
function startOf(services: string[] | null): string[] {
  const these = services === null ? [] : ['--no-deps', ...services];
  return ['-d', '--no-recreate', '--no-build', '--pull', 'never', ...these];
}

interface RunnerParts {
  settings: Settings;
  project: string;
  redactor: () => Redactor;
  limits: Limits;
  /** Home and docker configuration of compose. */
  dir: string;
}

interface Call {
  name: string;
  args: string[];
  profile?: string;
  release: ComposeRelease | null;
  timeoutS: number;
  hear?: Run['hear'];
}

interface Step extends Call {
  name: 'pull' | 'up' | 'down';
}

function createRunner({ settings, project, redactor, dir, limits }: RunnerParts) {
  const env = composeEnvironment(settings, dir);
  const { find, forget } = createFinder((signal) =>
    findProgram(settings, { env, cwd: '/', redactor: redactor() }, signal),
  );
  const call = async ({ name, args, profile, release, ...how }: Call, signal: AbortSignal) => {
    const cwd = release?.dir ?? dir;
    const files = release?.files.flatMap((file) => ['-f', join(cwd, file)]) ?? [];
    const [first, ...rest] = await find(signal);
    const plain = ['--ansi', 'never', '--progress', 'plain', ...(profile ? ['--profile', profile] : [])];
    const where = ['-p', project, ...(release ? ['--project-directory', cwd] : []), ...files];
    const argv: Argv = [first, ...rest, ...plain, ...where, name, ...args];
    return run({ ...how, argv, cwd, env: { ...env, PWD: cwd }, redactor: redactor(), limits }, signal);
  };
  const step = async (what: Step, signal: AbortSignal) =>
    expectSuccess(what.name, await call(what, signal), what.timeoutS);
  return { find, forget, call, step };
}

/** Looks once, for all who ask, until that is forgotten; a failed look is not kept. */
function createFinder(look: (signal: AbortSignal) => Promise<Argv>) {
  let known: { program: Promise<Argv>; inVain: AbortController } | null = null;
  const begin = (signal: AbortSignal) => {
    const inVain = new AbortController();
    const program = look(AbortSignal.any([signal, inVain.signal])).catch((error: unknown) => {
      known = null;
      throw error;
    });
    return { program, inVain };
  };
  return {
    find: (signal: AbortSignal) => (known ??= begin(signal)).program,
    forget: async () => {
      known?.inVain.abort();
      await known?.program.catch(() => undefined);
      known = null;
    },
  };
}

type Argv = [string, ...string[]];

function composeEnvironment(settings: Settings, configDir: string): Record<string, string> {
  return {
    PATH,
    HOME: configDir,
    DOCKER_CONFIG: configDir,
    DOCKER_HOST: settings.container_host,
    LANG: 'C.UTF-8',
    COMPOSE_EXPERIMENTAL_GIT_REMOTE: '0',
    COMPOSE_EXPERIMENTAL_OCI_REMOTE: '0',
    COMPOSE_MENU: '0',
  };
}

async function findProgram(
  settings: Settings,
  how: { env: Record<string, string>; cwd: string; redactor: Redactor },
  signal: AbortSignal,
): Promise<Argv> {
  const candidates: Argv[] =
    settings.compose === 'auto' ? [['docker', 'compose'], ['docker-compose']] : [[settings.compose]];
  const seen: string[] = [];
  for (const argv of candidates) {
    const { rc, stdout } = await run(
      { ...how, argv: [...argv, 'version', '--short'], timeoutS: PROBE_TIMEOUT_S },
      signal,
    );
    const version = /(\d+)\.(\d+)\.\d+/.exec(stdout);
    if (rc === 0 && version && isSupported(Number(version[1]), Number(version[2]))) return argv;
    seen.push(`${argv.join(' ')} is ${rc === 0 && version ? version[0] : 'missing'}`);
  }
  const need = `compose ${OLDEST.join('.')} or newer is needed, but ${seen.join(', ')}`;
  throw failure('COMPOSE_UNSUPPORTED', `${need}; ${CURE}`);
}

function isSupported(major: number, minor: number): boolean {
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** Nobody needs the logins after a crash, so nothing of them waits for the disk. */
async function withLogins<T>(dir: string, logins: RegistryLogin[], work: () => Promise<T>): Promise<T> {
  const auths = Object.fromEntries(
    logins.map(({ host, username, password }) => [
      host === 'docker.io' ? 'https://index.docker.io/v1/' : host,
      { auth: Buffer.from(`${username}:${password}`).toString('base64') },
    ]),
  );
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw diskFault('write', dir, error);
  });
  try {
    await writeLazily(join(dir, 'config.json'), JSON.stringify({ auths }), 0o600);
    return await work();
  } finally {
    await removeDir(dir);
  }
}

/** Not by `rmSync`, whose errors mostly lack a code. */
async function removeDir(dir: string): Promise<void> {
  try {
    if (lstatSync(dir, { throwIfNoEntry: false })) await rm(dir, { recursive: true, force: true });
  } catch (error) {
    throw diskFault('remove', dir, error);
  }
}

function expectSuccess(step: 'pull' | 'up' | 'down', { rc, timedOut, reached, tail }: Ran, timeoutS: number): void {
  if (rc === 0 && !timedOut) return;
  const why = timedOut ? `: timed out after ${timeoutS}s` : reached === null ? '' : `: ${exhausted(reached)}`;
  const code = `${step.toUpperCase()}_FAILED`;
  throw new Fault('failed', `failed: docker compose ${step} failed (rc=${rc})${why}`, { code, tail, isLate: timedOut });
}

const rendering = { name: 'config', args: ['--format', 'json'], profile: '*', timeoutS: 60 };
/** Nobody writes so much by hand; what is bigger was made to exhaust the agent. */
const maxModelBytes = 32 * 1024 * 1024;

async function modelOf(render: (hear: Run['hear']) => Promise<Ran>): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { rc, timedOut, reached, tail } = await render((chunk) => {
    bytes += chunk.length;
    if (bytes <= maxModelBytes) chunks.push(chunk);
  });
  const [last = ''] = tail.trim().split('\n').slice(-1);
  if (timedOut) throw unreadable(`timed out after ${rendering.timeoutS}s`);
  if (reached !== null) throw unreadable(exhausted(reached));
  if (rc !== 0) throw unreadable(`rc=${rc}: ${last}`);
  if (bytes > maxModelBytes) throw unreadable('the model is bigger than 32 MiB');
  const whole = Buffer.concat(chunks);
  wipe(...chunks);
  try {
    return parsed(whole.toString());
  } finally {
    wipe(whole);
  }
}

/** The parser's own error quotes what it read. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable('the model is no JSON');
  }
}

function exhausted(limit: string): string {
  return `it reached its limit of ${limit}; make the bundle smaller`;
}

function unreadable(why: string): Fault {
  return refused([{ code: 'COMPOSE_REFUSED', detail: `docker compose config cannot read the bundle: ${why}` }]);
}
