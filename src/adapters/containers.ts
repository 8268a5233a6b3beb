import { Agent } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { failure, stopped, type Fault } from '../../machines/fault.ts';
import { healthOf, type Inspected } from '../rules/health.ts';
import { logOf, probeOf, type Written } from '../rules/written.ts';
import { readJson } from './json.ts';

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

export type Containers = ReturnType<typeof createContainers>;

/** Well inside the 15 s that a tick has to end after SIGTERM (spec §2.2). */
const CALL_TIMEOUT_MS = 10_000;
const REMOVAL_TIMEOUT_MS = 120_000;
const LOG_ENTRIES = 20;
/** One more than is told, by which it shows whether there are more. */
const LAST_ENTRIES = { stdout: true, stderr: true, tail: LOG_ENTRIES + 1 } as const;
/** Nothing tells a line that Podman cut from a whole one, and half a secret could not be redacted. */
const PODMAN_LOG: Written = { text: 'Podman cuts lines of its log without a mark: see `podman logs`', cut: false };
const MAX_INSPECT_BYTES = 16 * 1024 * 1024;

/** A socket has no server name; told so, Node does not compile what finds out whether one is an IPv6 address. */
const agent = new Agent({ servername: '' } as object);

/**
 * The container engine by its API (spec §12). An engine that does not answer is RUNTIME_UNAVAILABLE; when `signal` fires
 * every call ends as `stopped`.
 */
export function createContainers(containerHost: string, project: string, signal: AbortSignal) {
  const socketPath = containerHost.replace('unix://', '');
  const engine = { socketPath, agent };
  const docker = new Docker({ ...engine, timeout: CALL_TIMEOUT_MS });
  const patient = new Docker({ ...engine, timeout: REMOVAL_TIMEOUT_MS });
  const ask = <T>(call: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> =>
    call({ abortSignal: signal }).catch((error: unknown) => {
      throw signal.aborted ? stopped() : faultOf(error, containerHost);
    });
  const filters = { label: [`com.docker.compose.project=${project}`] };

  const listAll = async (): Promise<Inspected[]> => {
    const found = await ask((options) => docker.listContainers({ ...options, all: true, filters }));
    const inspect = (id: string) => ask(({ abortSignal }) => unlessGone(inspectionOf(docker, id, abortSignal)));
    const inspected = await Promise.all(found.map(({ Id }) => inspect(Id)));
    const all = inspected.flatMap((info) => (info === null ? [] : [inspectedOf(info)]));
    return all.sort((a, b) => a.name.localeCompare(b.name));
  };

  return {
    /** Every container of the project by name, one-offs too; one that vanishes meanwhile is left out. */
    listAll,

    /** The containers of the project's services. */
    list: async (): Promise<Inspected[]> => (await listAll()).filter(({ oneOff }) => !oneOff),

    /** True when the engine answers. */
    answers: () => ask(() => docker.ping()).then(yes, no),

    info: (): Promise<EngineInfo> => ask(async () => infoOf(await docker.info())),

    volumes: (): Promise<ExistingVolume[]> => ask(async (options) => volumesOf(await docker.listVolumes(options))),

    /** The last lines that a container wrote, unredacted. */
    logs: (id: string): Promise<Written[]> =>
      ask(async (options) => {
        if (await isPodman(docker, options)) return [PODMAN_LOG];
        return logOf(await docker.getContainer(id).logs({ ...options, ...LAST_ENTRIES }), LOG_ENTRIES);
      }),

    /** Ends and removes it, its anonymous volumes too with `volumes`. */
    removeContainer: (id: string, { volumes = false } = {}) =>
      ask((options) => unlessGone(docker.getContainer(id).remove({ ...options, force: true, v: volumes }))),

    /** The id that a reference stands for here, null when there is no such image. */
    imageId: (reference: string): Promise<string | null> =>
      ask(async () => (await unlessGone(docker.getImage(reference).inspect()))?.Id ?? null),

    /** Makes a reference stand for an image that is here. */
    tagImage: (id: string, reference: string) => {
      const [, repo = reference, tag = 'latest'] = /^(.*?)(?::([^:/@]+))?$/.exec(reference) ?? [];
      return ask((options) => unlessGone(docker.getImage(id).tag({ ...options, repo, tag })));
    },

    /** Removes an image by reference; one that is gone or still in use is left alone. */
    removeImage: (reference: string) => ask((options) => unlessGone(patient.getImage(reference).remove(options), 409)),

    /** What `docker image prune -f` does. */
    pruneImages: () => ask((options) => patient.pruneImages({ ...options, filters: { dangling: ['true'] } })),
  };
}

function infoOf(info: unknown): EngineInfo {
  const { DockerRootDir, DriverStatus } = info as { DockerRootDir: string; DriverStatus?: [string, string][] };
  const containerdStore = (DriverStatus ?? []).some(
    ([key, value]) => key === 'driver-type' && value === 'io.containerd.snapshotter.v1',
  );
  return { rootDir: DockerRootDir, containerdStore };
}

/** dockerode's types leave out that it takes a signal here too; Docker before 18 had no components. */
async function isPodman(docker: Docker, options: { abortSignal: AbortSignal }): Promise<boolean> {
  const version = docker.version.bind(docker) as unknown as (wish: object) => Promise<Partial<Docker.DockerVersion>>;
  const { Components = [] } = await version(options);
  return Components.some(({ Name }) => Name === 'Podman Engine');
}

function volumesOf({ Volumes }: Awaited<ReturnType<Docker['listVolumes']>>): ExistingVolume[] {
  return Volumes.map(({ Name, Driver, Options }) => ({ name: Name, driver: Driver, options: Options ?? {} }));
}

const yes = () => true;
const no = () => false;

/**
 * What the engine tells of a container. Its environment is in it, and so are its secrets: dockerode's own call would leave a
 * copy of the answer in freed memory at every look.
 */
async function inspectionOf(docker: Docker, id: string, signal: AbortSignal): Promise<Docker.ContainerInspectInfo> {
  const call = { path: `/containers/${id}/json?`, method: 'GET', abortSignal: signal, isStream: true };
  const statusCodes = { 200: true, 404: 'no such container', 500: 'server error' };
  const { dial } = docker.modem as Modem;
  const body = await promisify(dial).call(docker.modem, { ...call, statusCodes });
  const info = await readJson(addAbortSignal(signal, body), MAX_INSPECT_BYTES);
  if (info === undefined) throw new Error('not JSON');
  return info as Docker.ContainerInspectInfo;
}

/** The part of dockerode that its types leave out. */
interface Modem {
  dial: (call: object, done: (error: Error | null, body: Readable) => void) => void;
}

function inspectedOf(info: Docker.ContainerInspectInfo): Inspected {
  const { State, HostConfig, Config } = info;
  return {
    id: info.Id,
    service: Config.Labels['com.docker.compose.service'] ?? '',
    oneOff: Config.Labels['com.docker.compose.oneoff'] === 'True',
    name: info.Name.replace(/^\//, ''),
    state: State.Status,
    health: healthOf(State.Health?.Status),
    exitCode: State.ExitCode,
    restartCount: info.RestartCount,
    restartPolicy: HostConfig.RestartPolicy?.Name || 'no',
    image: Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source),
    healthLog: (State.Health?.Log ?? []).map(({ Output }) => probeOf(Output)),
  };
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
