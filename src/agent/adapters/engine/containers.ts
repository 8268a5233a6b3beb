import type Docker from 'dockerode';
import { inspectedOf, isOneOff, listedOf, type Inspection, type ListEntry } from '../../rules/health/container.ts';
import type { Inspected, Seen } from '../../rules/health/health.ts';
import type { Owned } from '../../rules/release/owned.ts';
import { logOf, type Written } from '../../rules/health/containerLog.ts';
import { createEvents } from './containerEvents.ts';
import { callsTo, type Calls } from './engineCalls.ts';
import { createMaking } from './making.ts';
import { createResources } from './resources.ts';
import { unlessGone } from './unlessGone.ts';

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
  /** Milliseconds that a call may take in all, and one that removes or stops something; a minute and five unless given. */
  limitsMs?: { call: number; removal: number };
  /** Called before what may bring secrets into memory: an inspection tells the environment, a volume its options. */
  onInspect?: () => void;
}

export type Containers = ReturnType<typeof createContainers>;

const LOG_ENTRIES = 20;
/** One more than is told, by which it shows whether there are more. */
const LAST_ENTRIES = { stdout: true, stderr: true, tail: LOG_ENTRIES + 1 } as const;
/** Nothing tells a line that Podman cut from a whole one, and half a secret could not be redacted. */
const PODMAN_LOG: Written = { text: 'Podman cuts lines of its log without a mark: see `podman logs`', cut: false };

/** The container engine by its API (spec §12). An engine that does not answer is RUNTIME_UNAVAILABLE. */
export function createContainers(parts: ContainersParts) {
  const calls = callsTo(parts);
  const { ask, askPatiently, answer } = calls;
  return {
    ...createLooks(parts, calls),
    ...createResources(parts.project, () => parts.onInspect?.(), calls),
    ...createMaking(parts.project, () => parts.onInspect?.(), calls),
    ...createChanges(calls),

    /** True when the engine answers. */
    answers: () => ask((docker) => docker.ping()).then(yes, no),

    info: (): Promise<EngineInfo> => ask(async (docker) => infoOf(await docker.info())),

    volumes: (): Promise<ExistingVolume[]> => {
      parts.onInspect?.();
      return ask(async (docker, options) => volumesOf(await docker.listVolumes(options)));
    },

    /** What the engine tells of them while it happens. */
    events: createEvents(parts.project, () => parts.onInspect?.(), calls),

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

/** What is done where compose made something else than was judged. */
function createChanges({ ask, askPatiently }: Calls) {
  /** Removes a network, by id or name; one that is gone or still in use is left alone. */
  const removeNetwork = (id: string) =>
    ask((docker, options) => unlessGone(docker.getNetwork(id).remove(options), 403, 409));
  return {
    /** Ends it as its image or bundle wants it; harmless where it does not run. */
    stopContainer: (id: string) =>
      askPatiently((docker, options) => unlessGone(docker.getContainer(id).stop(options), 304)),

    /** Makes a container that is never started; null where its image is gone. */
    createContainer: (description: Docker.ContainerCreateOptions) =>
      ask((docker, options) => unlessGone(docker.createContainer({ ...options, ...description }))),

    removeNetwork,

    /** Removes volumes, with what they hold, and networks; what is gone or still in use is left alone. */
    removeOwned: async ({ volumes, networks }: Owned): Promise<void> => {
      for (const name of volumes)
        await askPatiently((docker, options) => unlessGone(docker.getVolume(name).remove(options), 409));
      for (const name of networks) await removeNetwork(name);
    },
  };
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

function createLooks({ project, onInspect }: ContainersParts, { answer, sorted }: Calls) {
  const query = { all: 'true', filters: JSON.stringify({ label: [`com.docker.compose.project=${project}`] }) };
  const entries = async () => {
    const { json, isPodman } = await sorted(answer({ path: '/containers/json', query }));
    return (json as ListEntry[]).map((entry) => ({ ...entry, listed: isPodman ? null : listedOf(entry) }));
  };
  const inspect = async ({ Id }: Pick<ListEntry, 'Id'>) => {
    onInspect?.();
    const found = await sorted(unlessGone(answer({ path: `/containers/${Id}/json` })));
    return found && inspectedOf(found.json as Inspection);
  };
  const listAll = async (): Promise<Inspected[]> => byName(await Promise.all((await entries()).map(inspect)));

  return {
    /** Every container of the project by name, one-offs too; one that vanishes meanwhile is left out. */
    listAll,

    /** One container, which one looked at before; null where it is gone. */
    lookAt: ({ id }: { id: string }): Promise<Inspected | null> => inspect({ Id: id }),

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
