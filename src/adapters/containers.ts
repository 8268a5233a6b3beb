import Docker from 'dockerode';
import { failure, Fault } from '../../machines/fault.ts';
import type { Inspected } from '../rules/health.ts';

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

const CALL_TIMEOUT_MS = 30_000;
const LOG_LINES = 20;

/** The container engine by its API (spec §12). An engine that does not answer is RUNTIME_UNAVAILABLE. */
export function createContainers(containerHost: string, project: string) {
  const docker = new Docker({ socketPath: containerHost.replace('unix://', ''), timeout: CALL_TIMEOUT_MS });
  const ask = <T>(call: () => Promise<T>) =>
    call().catch((error: unknown) => Promise.reject(faultOf(error, containerHost)));
  const ours = { label: [`com.docker.compose.project=${project}`] };

  return {
    /** Every container of the project by name, whatever its state; one that vanishes meanwhile is left out. */
    async list(): Promise<Inspected[]> {
      const found = await ask(() => docker.listContainers({ all: true, filters: ours }));
      const inspect = (id: string) => ask(() => unlessGone(docker.getContainer(id).inspect()));
      const inspected = await Promise.all(found.map(({ Id }) => inspect(Id)));
      const mine = inspected.flatMap((info) => (info === null || isOneOff(info) ? [] : [inspectedOf(info)]));
      return mine.sort((a, b) => a.name.localeCompare(b.name));
    },

    /** True when the engine answers. */
    answers: () => ask(() => docker.ping()).then(yes, no),

    async info(): Promise<EngineInfo> {
      const info = (await ask(() => docker.info())) as { DockerRootDir: string; DriverStatus?: [string, string][] };
      const containerdStore = (info.DriverStatus ?? []).some(
        ([key, value]) => key === 'driver-type' && value === 'io.containerd.snapshotter.v1',
      );
      return { rootDir: info.DockerRootDir, containerdStore };
    },

    async volumes(): Promise<ExistingVolume[]> {
      const { Volumes } = await ask(() => docker.listVolumes());
      return Volumes.map(({ Name, Driver, Options }) => ({ name: Name, driver: Driver, options: Options ?? {} }));
    },

    /** The last lines that a container wrote, unredacted. */
    logs: (id: string): Promise<string> =>
      ask(() => docker.getContainer(id).logs({ stdout: true, stderr: true, tail: LOG_LINES })).then(demultiplexed),

    removeContainer: (id: string) => ask(() => unlessGone(docker.getContainer(id).remove({ force: true }))),

    /** Removes an image by reference; one that is gone or still in use is left alone. */
    removeImage: (reference: string) => ask(() => unlessGone(docker.getImage(reference).remove(), 409)),

    /** What `docker image prune -f` does. */
    pruneImages: () => ask(() => docker.pruneImages({ filters: { dangling: ['true'] } })),
  };
}

const yes = () => true;
const no = () => false;

function isOneOff({ Config }: Docker.ContainerInspectInfo): boolean {
  return Config.Labels['com.docker.compose.oneoff'] === 'True';
}

function inspectedOf(info: Docker.ContainerInspectInfo): Inspected {
  const { State, HostConfig, Config } = info;
  return {
    id: info.Id,
    service: Config.Labels['com.docker.compose.service'] ?? '',
    name: info.Name.replace(/^\//, ''),
    state: State.Status,
    health: State.Health && State.Health.Status !== 'none' ? State.Health.Status : null,
    exitCode: State.ExitCode,
    restartCount: info.RestartCount,
    restartPolicy: HostConfig.RestartPolicy?.Name || 'no',
    image: Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source),
    healthLog: (State.Health?.Log ?? []).map(({ Output }) => Output),
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
  return new Fault('interrupted', `container engine at ${host} went away (${code ?? 'no answer'})`, {
    code: 'RUNTIME_UNAVAILABLE',
  });
}

/** Container logs come as frames of an 8-byte head (stream, length) and their bytes, unless the container has a tty. */
function demultiplexed(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    if (bytes.readUInt8(at) > 2 || bytes.readUIntBE(at + 1, 3) !== 0) return bytes.toString('utf8');
    const length = bytes.readUInt32BE(at + 4);
    parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(parts).toString('utf8');
}
