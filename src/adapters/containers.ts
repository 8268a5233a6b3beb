import { Agent } from 'node:http';
import type Docker from 'dockerode';
import { failure, stopped, type Fault } from '../../machines/fault.ts';
import { inspectedOf, isOneOff, listedOf, type Inspection, type ListEntry } from '../rules/container.ts';
import type { Inspected, Seen } from '../rules/health.ts';
import { logOf, type Written } from '../rules/written.ts';
import { answerOf, type Question } from './engineAnswer.ts';

/** Where the engine keeps what a pull writes, and whether by the containerd image store. */
export interface EngineInfo {
  rootDir: string;
  containerdStore: boolean;
}

/** A volume of the project as the engine has it. */
export interface ExistingVolume {
  name: string;
  driver: string;
  options: Record<string, string>;
}

/** What the client of an engine is made of. */
export interface ContainersParts {
  containerHost: string;
  project: string;
  /** When it fires, every call ends as `stopped`. */
  signal: AbortSignal;
  /** Called before what may bring secrets into memory: an inspection tells the environment, a volume its options. */
  onInspect?: () => void;
}

export type Containers = ReturnType<typeof createContainers>;

/** Well inside the 15 s that a tick has to end after SIGTERM (spec §2.2). */
const CALL_TIMEOUT_MS = 10_000;
const REMOVAL_TIMEOUT_MS = 120_000;
const LOG_ENTRIES = 20;
/** One more than is told, by which it shows whether there are more. */
const LAST_ENTRIES = { stdout: true, stderr: true, tail: LOG_ENTRIES + 1 } as const;
/** Nothing tells a line that Podman cut from a whole one, and half a secret could not be redacted. */
const PODMAN_LOG: Written = { text: 'Podman cuts lines of its log without a mark: see `podman logs`', cut: false };

/** A socket has no server name; told so, Node does not compile what finds out whether one is an IPv6 address. */
const agent = new Agent({ servername: '' } as object);

/** The container engine by its API (spec §12). An engine that does not answer is RUNTIME_UNAVAILABLE. */
export function createContainers(parts: ContainersParts) {
  const calls = callsTo(parts);
  const { ask, askPatiently, answer } = calls;
  return {
    ...createLooks(parts, calls),

    /** True when the engine answers. */
    answers: () => ask((docker) => docker.ping()).then(yes, no),

    info: (): Promise<EngineInfo> => ask(async (docker) => infoOf(await docker.info())),

    volumes: (): Promise<ExistingVolume[]> => {
      parts.onInspect?.();
      return ask(async (docker, options) => volumesOf(await docker.listVolumes(options)));
    },

    /** The last lines that a container wrote, unredacted. */
    logs: (id: string): Promise<Written[]> =>
      ask(async (docker, options) => {
        if ((await answer({ path: '/version' })).isPodman) return [PODMAN_LOG];
        return logOf(await docker.getContainer(id).logs({ ...options, ...LAST_ENTRIES }), LOG_ENTRIES);
      }),

    /** Ends and removes it, its anonymous volumes too with `volumes`. */
    removeContainer: (id: string, { volumes = false } = {}) =>
      ask((docker, options) => unlessGone(docker.getContainer(id).remove({ ...options, force: true, v: volumes }))),

    /** The id that a reference stands for here, null when there is no such image. */
    imageId: (reference: string): Promise<string | null> =>
      ask(async (docker) => (await unlessGone(docker.getImage(reference).inspect()))?.Id ?? null),

    /** Makes a reference stand for an image that is here. */
    tagImage: (id: string, reference: string) => {
      const [, repo = reference, tag = 'latest'] = /^(.*?)(?::([^:/@]+))?$/.exec(reference) ?? [];
      return ask((docker, options) => unlessGone(docker.getImage(id).tag({ ...options, repo, tag })));
    },

    /** Removes an image by reference; one that is gone or still in use is left alone. */
    removeImage: (reference: string) =>
      askPatiently((docker, options) => unlessGone(docker.getImage(reference).remove(options), 409)),

    /** What `docker image prune -f` does. */
    pruneImages: () =>
      askPatiently((docker, options) => docker.pruneImages({ ...options, filters: { dangling: ['true'] } })),
  };
}

/** The ways to ask an engine. */
function callsTo({ containerHost, signal }: ContainersParts) {
  const engine = { socketPath: containerHost.replace('unix://', ''), agent, timeout: CALL_TIMEOUT_MS };
  const sorted = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      throw signal.aborted ? stopped() : faultOf(error, containerHost);
    });
  const asking = (timeout: number) => {
    const client = clientOf({ ...engine, timeout });
    return <T>(call: (docker: Docker, options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> =>
      sorted(client().then((docker) => call(docker, { abortSignal: signal })));
  };
  return {
    ask: asking(CALL_TIMEOUT_MS),
    askPatiently: asking(REMOVAL_TIMEOUT_MS),
    answer: (question: Question) => answerOf(engine, question, signal),
    /** A fault in the place of an error. */
    sorted,
  };
}

/**
 * dockerode, loaded once it is needed: no tick does that finds all well. Were there a DOCKER_HOST it would go there, whatever
 * engine it is given.
 */
function clientOf(engine: Docker.DockerOptions): () => Promise<Docker> {
  const load = async () => {
    const { default: Client } = await import('dockerode');
    delete process.env['DOCKER_HOST'];
    return new Client(engine);
  };
  let client: Promise<Docker> | null = null;
  return () => (client ??= load());
}

function infoOf(info: unknown): EngineInfo {
  const { DockerRootDir, DriverStatus } = info as { DockerRootDir: string; DriverStatus?: [string, string][] };
  const containerdStore = (DriverStatus ?? []).some(
    ([key, value]) => key === 'driver-type' && value === 'io.containerd.snapshotter.v1',
  );
  return { rootDir: DockerRootDir, containerdStore };
}

function volumesOf({ Volumes }: Awaited<ReturnType<Docker['listVolumes']>>): ExistingVolume[] {
  return Volumes.map(({ Name, Driver, Options }) => ({ name: Name, driver: Driver, options: Options ?? {} }));
}

const yes = () => true;
const no = () => false;

function createLooks({ project, onInspect }: ContainersParts, { answer, sorted }: ReturnType<typeof callsTo>) {
  const query = { all: 'true', filters: JSON.stringify({ label: [`com.docker.compose.project=${project}`] }) };
  const entries = async () => {
    const { json, isPodman } = await sorted(answer({ path: '/containers/json', query }));
    return (json as ListEntry[]).map((entry) => ({ ...entry, listed: isPodman ? null : listedOf(entry) }));
  };
  const inspect = async ({ Id }: ListEntry) => {
    onInspect?.();
    const found = await sorted(unlessGone(answer({ path: `/containers/${Id}/json` })));
    return found && inspectedOf(found.json as Inspection);
  };
  const listAll = async (): Promise<Inspected[]> => byName(await Promise.all((await entries()).map(inspect)));

  return {
    /** Every container of the project by name, one-offs too; one that vanishes meanwhile is left out. */
    listAll,

    /** The containers of the project's services. */
    list: async (): Promise<Inspected[]> => (await listAll()).filter(({ oneOff }) => !oneOff),

    /**
     * The same, to see how they are. One that runs is not inspected, for its environment holds secrets; of Podman each is,
     * as its list tells no health.
     */
    glance: async (): Promise<Seen[]> => {
      const ofServices = (await entries()).filter((entry) => !isOneOff(entry));
      return byName(await Promise.all(ofServices.map(async (entry) => entry.listed ?? inspect(entry))));
    },
  };
}

function byName<T extends Seen>(containers: (T | null)[]): T[] {
  return containers.filter((each) => each !== null).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function unlessGone<T>(call: Promise<T>, ...tolerated: number[]): Promise<T | null> {
  return call.catch((error: unknown) => {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== undefined && [404, ...tolerated].includes(statusCode)) return null;
    throw error;
  });
}

function faultOf(error: unknown, host: string): Fault {
  const { code, statusCode, reason } = error as { code?: string; statusCode?: number; reason?: string };
  if (statusCode !== undefined)
    return failure('RUNTIME_UNAVAILABLE', `container engine answers ${statusCode} ${reason ?? ''}`);
  const why: Record<string, string> = {
    ENOENT: 'no such socket; is the engine installed and running?',
    ECONNREFUSED: 'nothing listens; is the engine running?',
    EACCES: 'permission denied; add the agent to the group that owns the socket',
  };
  const known = why[code ?? ''];
  if (known !== undefined) return failure('RUNTIME_UNAVAILABLE', `container engine at ${host}: ${known}`);
  return failure('RUNTIME_UNAVAILABLE', `container engine at ${host} does not answer (${code ?? 'in time'})`);
}
