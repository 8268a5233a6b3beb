import { totalmem } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { modelOf, rendering } from './composeModel.ts';
import { createFinder, findProgram, type Argv } from './composeProgram.ts';
import { endOrphans } from './orphans.ts';
import { run, unstartable, type Ran, type Run } from './process.ts';
import { removeLogins, withLogins, type RegistryLogin } from './registryLogins.ts';
import { exhausted, limitsOf, type Limits } from './rlimits.ts';

/** A release as compose needs it: its real directory and the files in it, in order. */
export interface ComposeRelease {
  dir: string;
  files: string[];
}

/** Whether images that are not here may be fetched. */
export type Pull = 'never' | 'missing';

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type Compose = ReturnType<typeof createCompose>;

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
      await removeLogins(dir);
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

function expectSuccess(step: 'pull' | 'up' | 'down', ran: Ran, timeoutS: number): void {
  const { rc, timedOut, tail } = ran;
  if (rc === 0 && !timedOut) return;
  const code = `${step.toUpperCase()}_FAILED`;
  const line = `failed: docker compose ${step} failed (rc=${rc})${whyOf(ran, timeoutS)}`;
  throw new Fault('failed', line, { code, tail, isLate: timedOut });
}

function whyOf({ timedOut, reached, unstarted }: Ran, timeoutS: number): string {
  if (timedOut) return `: timed out after ${timeoutS}s`;
  if (unstarted !== null) return `: it ${unstartable(unstarted)}`;
  return reached === null ? '' : `: ${exhausted(reached)}`;
}

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
