import { totalmem } from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from '../../core/clock.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { writeWithoutSync } from '../state/durableFiles.ts';
import {
  type Argv,
  createProgramFinder,
  findComposeProgram,
  readHashes,
  readModel,
  renderCall,
  terminateOrphans,
} from './composeProgram.ts';
import {
  composeLimitsOf,
  dockerEnvironment,
  expectSuccess,
  type ResourceLimits,
  type RunOptions,
  runProgram,
} from './programs.ts';
import { composeRangeOf, PullProgress } from './compose.rules.ts';
import { type RegistryLogin, removeLogins, withLogins } from './registries.ts';

/** A release for compose: its real directory, its compose files in order, and the chosen profiles. */
export interface ComposeRelease {
  dir: string;
  files: string[];
  profiles: string[];
}

/** A release whose containers are created. */
interface StartedRelease extends ComposeRelease {
  /** Seconds for which its services may wait for each other; by default none. */
  dependenciesS?: number;
  /** How many containers one of the services has while two generations of it run. */
  scale?: ServiceScale;
}

/** The number of a service's containers, of all its generations. */
interface ServiceScale {
  service: string;
  containers: number;
}

/** A release, and the services that have one image, which is pulled. */
interface PulledServices extends ComposeRelease {
  services: readonly string[];
  /** Remaining seconds for the pull. */
  timeoutS: number;
}

/** An image to pull, `<repository>@<digest>`, and the platform if its service names one. */
interface DigestToPull {
  reference: string;
  platform: string | null;
}

/** In addition to the registry logins while an image is pulled by its digest. */
const DIGEST_FILE = 'digest.json';

export type Compose = ReturnType<typeof createCompose>;

interface ComposeOptions {
  redactor: () => Redactor;
  /** Null, the default, for an engine other than Podman. */
  podmanVersion?: () => Promise<string | null>;
  limits?: ResourceLimits | undefined;
}

const noPodman = async () => null;

/**
 * `docker compose` v2 for one project (spec §12.1): explicit files and project name, the release's real path, a
 * separate environment, no stdin, never `-y`. A failing step throws the specification's line with the redacted tail.
 */
export function createCompose(
  settings: Settings,
  project: string,
  { redactor, podmanVersion = noPodman, limits = composeLimitsOf(totalmem()) }: ComposeOptions,
) {
  const { pull_timeout_s, up_timeout_s, down_timeout_s } = settings;
  const dir = join(settings.state_dir, settings.env, 'docker-config');
  const { find, forget, call, step, pull } = createRunner({ settings, project, redactor, dir, limits, podmanVersion });
  return {
    /** Throws COMPOSE_UNSUPPORTED without a compose that works with the engine. */
    probe: async (signal: AbortSignal): Promise<void> => void (await find(signal)),

    /** The version of the compose that works with the engine. Throws COMPOSE_UNSUPPORTED without one. */
    version: async (signal: AbortSignal) => (await find(signal)).version,

    /** Aborts a running discovery of compose; the next call starts a new one. */
    forget,

    /** Pulls the image of some services. Throws PULL_FAILED also when nothing arrives for `pull_stall_s`. */
    pull: ({ services, timeoutS, ...release }: PulledServices, logins: RegistryLogin[], signal: AbortSignal) =>
      withLogins(dir, logins, () => pull({ services, release, timeoutS }, signal)),

    /** Pulls one image by its digest, independently of the release. */
    pullDigest: ({ reference, platform }: DigestToPull, logins: RegistryLogin[], signal: AbortSignal) =>
      withLogins(dir, logins, async () => {
        const service = { image: reference, ...(platform !== null && { platform }) };
        await writeWithoutSync(join(dir, DIGEST_FILE), JSON.stringify({ services: { image: service } }), 0o600);
        const release = { dir, files: [DIGEST_FILE], profiles: [] };
        await pull({ services: [], release, timeoutS: pull_timeout_s }, signal);
      }),

    /**
     * The model that compose renders from the files and `.env`, with the services that run, as parsed JSON. It contains
     * secrets: never log or report any of it. Throws COMPOSE_REFUSED when compose cannot read the files.
     */
    renderModel: (release: ComposeRelease, signal: AbortSignal) =>
      withLogins(dir, [], () => readModel((onStdout) => call({ ...renderCall, release, onStdout }, signal))),

    /**
     * The configuration hash that this compose computes for each service, or the fault when it prints none, and its
     * version. The files and `.env` contain secrets, the hashes do not.
     */
    configurationHashes: (release: ComposeRelease, signal: AbortSignal) =>
      withLogins(dir, [], () => readHashes((hashCall) => call({ ...hashCall, release }, signal))),

    /**
     * Creates the containers, networks and volumes of a release from local images, without the excluded services, and starts
     * nothing. Removes orphan containers.
     */
    create: (release: ComposeRelease, options: CreateOptions, signal: AbortSignal) =>
      withLogins(dir, [], () =>
        step({ name: 'up', args: createArguments(options), release, timeoutS: up_timeout_s }, signal),
      ),

    /**
     * Starts the existing containers in the order of their dependencies: all, or only the containers of `services`. It
     * waits until dependencies are healthy or have ended, for at most `dependenciesS` in addition to its own limit.
     */
    up: ({ dependenciesS = 0, scale, ...release }: StartedRelease, services: string[] | null, signal: AbortSignal) =>
      withLogins(dir, [], () => {
        const args = startArguments(services, scale);
        return step({ name: 'up', args, release, timeoutS: up_timeout_s + dependenciesS }, signal);
      }),

    /**
     * Removes the whole project by its labels, without files, orphan containers included; volumes only with `volumes`.
     */
    down: (volumes: boolean, signal: AbortSignal) =>
      withLogins(dir, [], () => {
        const args = ['--remove-orphans', ...(volumes ? ['-v'] : [])];
        return step({ name: 'down', args, release: null, timeoutS: down_timeout_s }, signal);
      }),

    /**
     * Terminates compose processes and removes registry logins that a killed tick left; true when there was a process.
     */
    terminateOrphans: async (): Promise<boolean> => {
      const wereRunning = await terminateOrphans(project, dir);
      await removeLogins(dir);
      return wereRunning;
    },
  };
}

/** How the containers of a release are created. */
interface CreateOptions {
  /** Services for which no container is created. */
  excludedServices?: string[];
  /** The only services that are touched; all if null. */
  only?: string[] | null;
  /** Creates containers of this service beside its existing ones, and replaces nothing. */
  scale?: ServiceScale;
  /**
   * Selects the services that the others depend on, too. Otherwise compose before 2.27 leaves the dependencies out of
   * the configuration hash, and creates the containers again in the next `up`.
   */
  withDependencies?: boolean;
}

function createArguments({
  excludedServices = [],
  only = null,
  scale,
  withDependencies = false,
}: CreateOptions): string[] {
  const scaledToZero = excludedServices.flatMap((service) => ['--scale', `${service}=0`]);
  const quietly = ['--no-start', '--no-build', '--pull', 'never'];
  const selection = withDependencies ? scaledToZero : ['--no-deps'];
  if (scale !== undefined) return [...quietly, '--no-recreate', ...selection, ...scaleArguments(scale), scale.service];
  if (only !== null) return [...quietly, ...selection, ...only];
  return [...quietly, '--remove-orphans', ...scaledToZero];
}

function scaleArguments({ service, containers }: ServiceScale): string[] {
  return ['--scale', `${service}=${containers}`];
}

/** `--no-deps`, because compose 2.20 waits forever for a dependency that has no container. */
function startArguments(services: string[] | null, scale?: ServiceScale): string[] {
  const scaled = scale === undefined ? [] : scaleArguments(scale);
  const selection = services === null ? [] : ['--no-deps', ...services];
  return ['-d', '--no-recreate', '--no-build', '--pull', 'never', ...scaled, ...selection];
}

interface RunnerOptions extends Required<ComposeOptions> {
  settings: Settings;
  project: string;
  limits: ResourceLimits;
  /** Home directory and docker configuration of compose. */
  dir: string;
}

interface ComposeCall {
  name: string;
  args: string[];
  release: ComposeRelease | null;
  timeoutS: number;
  onStdout?: RunOptions['onStdout'];
  onErrorLine?: RunOptions['onErrorLine'];
  giveUp?: RunOptions['giveUp'];
}

interface ComposeStep extends ComposeCall {
  name: 'up' | 'down';
}

const stepCodes = { pull: 'PULL_FAILED', up: 'UP_FAILED', down: 'DOWN_FAILED' };

function createRunner({ settings, project, redactor, dir, limits, podmanVersion }: RunnerOptions) {
  const env = composeEnvironment(settings, dir);
  const { find, resetDiscovery } = createProgramFinder(async (signal) => {
    const range = composeRangeOf(await podmanVersion());
    return findComposeProgram(settings, { env, cwd: '/', redactor: redactor(), range }, signal);
  });
  const call = async ({ name, args, release, ...options }: ComposeCall, signal: AbortSignal) => {
    const cwd = release?.dir ?? dir;
    const files = release?.files.flatMap((file) => ['-f', join(cwd, file)]) ?? [];
    const profiles = release?.profiles.flatMap((profile) => ['--profile', profile]) ?? [];
    const {
      argv: [first, ...rest],
    } = await find(signal);
    const output = ['--ansi', 'never', '--progress', 'plain', ...profiles];
    const target = ['-p', project, ...(release ? ['--project-directory', cwd] : []), ...files];
    const argv: Argv = [first, ...rest, ...output, ...target, name, ...args];
    return runProgram({ ...options, argv, cwd, env: { ...env, PWD: cwd }, redactor: redactor(), limits }, signal);
  };
  const step = async (composeStep: ComposeStep, signal: AbortSignal) =>
    expectSuccess(`compose ${composeStep.name}`, await call(composeStep, signal), {
      code: stepCodes[composeStep.name],
      timeoutS: composeStep.timeoutS,
    });
  const pull = async ({ services, release, timeoutS }: ImagePull, signal: AbortSignal) => {
    const watch = watchPull(settings.pull_stall_s);
    const { onErrorLine, giveUp } = watch;
    const pullCall = { name: 'pull', args: [...services], release, timeoutS, onErrorLine, giveUp };
    const result = await call(pullCall, signal).finally(watch.close);
    const reason = watch.reason(result.timedOut ? settings.pull_timeout_s : null);
    expectSuccess('compose pull', result, { code: stepCodes.pull, timeoutS, reason });
  };
  return { find, forget: resetDiscovery, call, step, pull };
}

/** The pull of one image by its services; of all images of the release without services. */
interface ImagePull {
  services: readonly string[];
  release: ComposeRelease;
  timeoutS: number;
}

/** Watches the data that arrives of an image, and aborts the pull after `stallS` seconds without data. */
function watchPull(stallS: number) {
  const progress = new PullProgress(monotonicMs());
  const stalled = new AbortController();
  const timer = setInterval(() => {
    if (progress.stalledMs(monotonicMs()) >= stallS * 1000) stalled.abort();
  }, STALL_POLL_MS).unref();
  return {
    onErrorLine: (line: string) => progress.read(line, monotonicMs()),
    giveUp: stalled.signal,
    close: () => clearInterval(timer),
    /** Why the pull was aborted; undefined if it was not. */
    reason: (limitS: number | null): string | undefined => {
      if (!stalled.signal.aborted && limitS === null) return undefined;
      const why = stalled.signal.aborted
        ? `nothing arrived for ${stallS}s (pull_stall_s)`
        : `timed out after ${limitS}s (pull_timeout_s, for all images together)`;
      return `${why}; ${progress.describe(monotonicMs())}`;
    },
  };
}

const STALL_POLL_MS = 250;

/** These variables override values in `.env`: the list contains no variable that a bundle may set. */
function composeEnvironment(settings: Settings, configDir: string): Record<string, string> {
  return {
    ...dockerEnvironment(settings, configDir),
    COMPOSE_EXPERIMENTAL_GIT_REMOTE: '0',
    COMPOSE_EXPERIMENTAL_OCI_REMOTE: '0',
    COMPOSE_MENU: '0',
  };
}
