import type Docker from 'dockerode';
import { Fault } from '../../../machines/fault.ts';
import { blockBytes, parseHeader } from '../../bundle/archive/tarHeader.rules.ts';
import type { ImageAccounts } from '../../bundle/plan/bundleToStart.rules.ts';
import type { LocalImage } from '../../bundle/plan/images.rules.ts';
import type { EngineHealthcheck } from '../../bundle/plan/writtenServices.rules.ts';
import { collectBytes } from '../../core/streams.ts';
import type { ProjectResources } from '../state/state.rules.ts';
import {
  type ContainerInspection,
  type ContainerListEntry,
  type CreationFacts,
  creationFactsOf,
  type InspectedContainer,
  isOneOff,
  type ObservedContainer,
  parseInspection,
  parseListEntry,
} from './container.rules.ts';
import { createEventSubscriber, createExitQuery } from './containerEvents.ts';
import { createLogQueries } from './containerLogs.ts';
import { givenVolumeOptions } from './createdContainer.rules.ts';
import { createEngineApi, type EngineApi, ignoreNotFound, projectFilter } from './engineApi.ts';
import { createProjectInspection, createResourceQueries, createVolumeQueries } from './engineResources.ts';
import { isEngineRefusal } from './engineAnswer.rules.ts';

/** The directory to which a pull writes, and whether the engine uses the containerd image store. */
interface EngineInfo {
  rootDir: string;
  containerdStore: boolean;
  /** Whether a read-only bind mount makes the mounts below it read-only too: Docker 25 on Linux 5.12, and later ones. */
  readOnlyIsRecursive: boolean;
}

/** A volume of the engine. */
interface ExistingVolume {
  name: string;
  driver: string;
  options: Record<string, string>;
}

/** A container of a service, with its creation parameters. */
export type ContainerStatus = ObservedContainer & { created: CreationFacts };

/** A command that runs in a container. */
export interface ContainerCommand {
  command: string[];
  /** `NAME=value` */
  environment: string[];
  /** '' for the container's own. */
  user: string;
  /** '' for the container's own. */
  workingDir: string;
  privileged: boolean;
}

/** Which engine and project the client serves, and its bounds. */
interface ContainersOptions {
  containerHost: string;
  project: string;
  /** On abort every call fails with the fault `stopped`. */
  signal: AbortSignal;
  /**
   * Total milliseconds of a call, `removal` for api that remove or stop something; one and six minutes by default.
   */
  timeoutsMs?: { call: number; removal: number };
  /**
   * Called before a request whose response may contain secrets: the environment of a container, options of a volume.
   */
  onInspect?: () => void;
}

export type Containers = ReturnType<typeof createContainers>;

/**
 * The API of the container engine (spec §12). Throws RUNTIME_UNAVAILABLE when the engine does not respond, and
 * ENGINE_ERROR with its message when it responds with an error.
 */
export function createContainers(options: ContainersOptions) {
  const api = createEngineApi(options);
  const { withDocker, withDockerSlow } = api;
  return {
    ...createQueries(options.project, api),
    ...createResourceQueries(options.project, api),
    ...createProjectInspection(options.project, api),
    ...createLogQueries(api),
    ...createStackQueries(options, api),
    ...createVolumeQueries(options, api),
    ...createMutations(api),
    ...createProbes(api),
    ...createImageAccounts(api),

    info: (): Promise<EngineInfo> => withDocker(async (docker) => infoOf(await docker.info())),

    volumes: (): Promise<ExistingVolume[]> => {
      options.onInspect?.();
      return withDocker(async (docker, options) => volumesOf(await docker.listVolumes(options)));
    },

    /** Subscribes to events of the project's containers. */
    subscribeToEvents: createEventSubscriber(options.project, api),

    /** How the project's containers ended since a time. */
    exitsSince: createExitQuery(options.project, api),

    /**
     * Kills and removes a container; with `volumes` also its anonymous volumes. It is killed by a separate call,
     * because Podman's forced removal waits for the container's stop timeout. Podman 4.3 answers 500 for a stopped
     * container. A container whose removal has already started is skipped.
     */
    removeContainer: (id: string, { volumes = false } = {}) =>
      withDocker(async (docker, options) => {
        const container = docker.getContainer(id);
        await ignoreNotFound(container.kill(options), 409, /container state improper/);
        const removal = container.remove({ ...options, force: true, v: volumes });
        await ignoreNotFound(removal, /removal of container \S+ is already in progress/);
      }),

    /** The image id of a reference, null when the image is absent. */
    imageId: (reference: string): Promise<string | null> =>
      withDocker(
        async (docker) => (await ignoreNotFound(docker.getImage(reference).inspect(), noReference))?.Id ?? null,
      ),

    /**
     * `<repository>@<digest>` of every registry from which the engine has an image, by id or reference; empty when it
     * is absent.
     */
    repoDigests: (image: string): Promise<string[]> =>
      withDocker(async (docker) => {
        const found = await ignoreNotFound(docker.getImage(image).inspect(), noReference);
        return found?.RepoDigests ?? [];
      }),

    /** The engine's data about an image; null when the image is absent. */
    localImage: (reference: string): Promise<LocalImage | null> =>
      withDocker(async (docker) => {
        const image = await ignoreNotFound(docker.getImage(reference).inspect(), noReference);
        if (image === null) return null;
        const { User: user = '', Volumes } = image.Config as { User?: string; Volumes?: object | null };
        const volumes = Object.keys(Volumes ?? {});
        return { taggedMs: taggedMsOf(image), user, architecture: image.Architecture, volumes };
      }),

    /** Adds a reference to an image of the store. */
    tagImage: (id: string, reference: string) => {
      const [, repo = reference, tag = 'latest'] = /^(.*?)(?::([^:/@]+))?$/.exec(reference) ?? [];
      return withDocker((docker, options) => ignoreNotFound(docker.getImage(id).tag({ ...options, repo, tag })));
    },

    /** Removes an image by reference; one that is absent or in use is skipped. */
    removeImage: (reference: string) =>
      withDockerSlow((docker, options) => ignoreNotFound(docker.getImage(reference).remove(options), 409)),
  };
}

/** Null for the zero time, which an engine returns for a pulled image, and without a time. */
function taggedMsOf(image: object): number | null {
  const { Metadata } = image as { Metadata?: { LastTagTime?: string } };
  const taggedMs = Date.parse(Metadata?.LastTagTime ?? '');
  return taggedMs > 0 ? taggedMs : null;
}

/** A text with a variable is not a reference: no image has it. */
const noReference = /invalid reference format/;

/** Changes to resources of the engine. */
function createMutations({ withDocker, withDockerSlow }: EngineApi) {
  /** Removes a network by id or name; skips one that is absent or in use. Podman answers 500 for a network in use. */
  const removeNetwork = (id: string) =>
    withDocker((docker, options) =>
      ignoreNotFound(docker.getNetwork(id).remove(options), 403, 409, /network is being used/),
    );
  return {
    /** Stops a container with its own stop signal and timeout; no effect when it is not running. */
    stopContainer: (id: string) =>
      withDockerSlow((docker, options) => ignoreNotFound(docker.getContainer(id).stop(options), 304)),

    /**
     * Runs a command in a running container, and resolves to its exit code; null when the container does not run. Its
     * output is dropped.
     */
    runIn: (id: string, { command, user, workingDir, environment, privileged }: ContainerCommand) =>
      withDockerSlow(async (docker, { abortSignal }) => {
        const created = await ignoreNotFound(
          docker.getContainer(id).exec({
            ...{ Cmd: command, Env: environment, AttachStdout: true, AttachStderr: true, abortSignal },
            ...(user !== '' && { User: user }),
            ...(workingDir !== '' && { WorkingDir: workingDir }),
            ...(privileged && { Privileged: true }),
          }),
          409,
        );
        if (created === null) return null;
        const output = await created.start({ abortSignal });
        for await (const chunk of output as AsyncIterable<Buffer>) void chunk;
        return (await created.inspect({ abortSignal })).ExitCode;
      }),

    /** Stops a container as above, and starts it again. */
    restartContainer: (id: string) =>
      withDockerSlow((docker, options) => ignoreNotFound(docker.getContainer(id).restart(options))),

    /** Creates a container without starting it; null when its image is absent. */
    createContainer: (description: Docker.ContainerCreateOptions) =>
      withDocker((docker, options) => ignoreNotFound(docker.createContainer({ ...options, ...description }))),

    removeNetwork,

    /** Removes volumes with their content, and networks; those that are absent or in use are skipped. */
    removeOwnedResources: async ({ volumes, networks }: ProjectResources): Promise<void> => {
      for (const name of volumes)
        await withDockerSlow((docker, options) => ignoreNotFound(docker.getVolume(name).remove(options), 409));
      for (const name of networks) await removeNetwork(name);
    },
  };
}

function createProbes({ withDocker, getJson }: EngineApi) {
  return {
    /** True when the engine responds, if only by an error. */
    isReachable: () =>
      withDocker((docker) => docker.ping()).then(
        () => true,
        (error: unknown) => error instanceof Fault && isEngineRefusal(error),
      ),

    /** The healthcheck of an image, null when the image is absent. */
    image: (reference: string): Promise<{ healthcheck: EngineHealthcheck | null } | null> =>
      withDocker(async (docker) => {
        const image = await ignoreNotFound(docker.getImage(reference).inspect(), noReference);
        return image && { healthcheck: (image.Config as { Healthcheck?: EngineHealthcheck }).Healthcheck ?? null };
      }),

    /** Null for another engine, and for an engine that does not respond. */
    podmanVersion: (): Promise<string | null> =>
      getJson({ path: '/version' }).then(
        ({ json, isPodman }) => (isPodman ? (json as { Version: string }).Version : null),
        () => null,
      ),
  };
}

function infoOf(info: unknown): EngineInfo {
  const { DockerRootDir, DriverStatus, ServerVersion, KernelVersion } = info as {
    DockerRootDir: string;
    DriverStatus?: [string, string][];
    ServerVersion?: string;
    KernelVersion?: string;
  };
  const isAtLeast = (version = '', [major, minor]: [number, number]) => {
    const [one = 0, two = 0] = version.split('.').map((part) => parseInt(part, 10));
    return one > major || (one === major && two >= minor);
  };
  const containerdStore = (DriverStatus ?? []).some(
    ([key, value]) => key === 'driver-type' && value === 'io.containerd.snapshotter.v1',
  );
  const readOnlyIsRecursive = isAtLeast(ServerVersion, [25, 0]) && isAtLeast(KernelVersion, [5, 12]); // Podman has 5
  return { rootDir: DockerRootDir, containerdStore, readOnlyIsRecursive };
}

function volumesOf({ Volumes }: Awaited<ReturnType<Docker['listVolumes']>>): ExistingVolume[] {
  return Volumes.map(({ Name, Driver, Options }) => ({
    name: Name,
    driver: Driver,
    options: givenVolumeOptions(Options),
  }));
}

function createQueries(project: string, { getJson, inspectContainer }: EngineApi) {
  const query = { all: 'true', filters: JSON.stringify(projectFilter(project)) };
  const entries = async () => {
    const { json, isPodman } = await getJson({ path: '/containers/json', query });
    return (json as ContainerListEntry[]).map((entry) => ({
      ...entry,
      listed: isPodman ? null : parseListEntry(entry),
    }));
  };
  const inspectRaw = async (id: string) => (await inspectContainer(id)) as ContainerInspection | null;
  const inspect = async ({ Id }: Pick<ContainerListEntry, 'Id'>) => {
    const inspection = await inspectRaw(Id);
    return inspection && parseInspection(inspection);
  };
  const statusOf = async (entry: Awaited<ReturnType<typeof entries>>[number]): Promise<ContainerStatus | null> => {
    if (entry.listed !== null) return { ...entry.listed, created: creationFactsOf(entry) };
    const inspection = await inspectRaw(entry.Id);
    return (
      inspection && { ...parseInspection(inspection), created: creationFactsOf(inspectedEntry(entry, inspection)) }
    );
  };
  const listAll = async (): Promise<InspectedContainer[]> =>
    sortByName(await Promise.all((await entries()).map(inspect)));

  return {
    /**
     * Inspects every container of the project, one-off containers too, sorted by name; one that vanishes meanwhile is
     * left out.
     */
    listAll,

    /** Inspects one container; null when it is gone. */
    inspect: ({ id }: { id: string }): Promise<InspectedContainer | null> => inspect({ Id: id }),

    /** The containers of the project's services. */
    list: async (): Promise<InspectedContainer[]> => (await listAll()).filter(({ oneOff }) => !oneOff),

    /**
     * Their statuses. Running containers are taken from the list, not inspected, because an inspection contains their
     * environment and so secrets. Podman's list has no health, so there each is inspected.
     */
    listStatuses: async (): Promise<ContainerStatus[]> => {
      const ofServices = (await entries()).filter((entry) => !isOneOff(entry));
      return sortByName(await Promise.all(ofServices.map(statusOf)));
    },
  };
}

/** The entry with the fields that Podman's list lacks. */
function inspectedEntry(
  entry: ContainerListEntry,
  { Image, Mounts, NetworkSettings }: ContainerInspection,
): ContainerListEntry {
  return { ...entry, ImageID: Image, Mounts, ...(NetworkSettings && { NetworkSettings }) };
}

function sortByName<T extends ObservedContainer>(containers: (T | null)[]): T[] {
  return containers.filter((each) => each !== null).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The swarm's data about the project's stack; the engine must be a manager. */
function createStackQueries(
  { project, onInspect }: { project: string; onInspect?: () => void },
  { getJson }: EngineApi,
) {
  return {
    /** Names of its services, on all nodes. */
    stackServices: async (): Promise<string[]> => {
      onInspect?.(); // their specifications contain environment variables
      const filters = JSON.stringify({ label: [`com.docker.stack.namespace=${project}`] });
      const { json } = await getJson({ path: '/services', query: { filters } });
      return (json as { Spec: { Name: string } }[]).map(({ Spec }) => Spec.Name.replace(`${project}_`, ''));
    },
  };
}

/**
 * Label of a container that was created to inspect an image, so that the next one removes a container that a killed
 * agent left.
 */
const accountsLabel = 'deployd.image-accounts';

/** Bytes of a file with the accounts of an image. */
const maxAccountsBytes = 1_048_576;

function createImageAccounts({ withDocker }: EngineApi) {
  return {
    /**
     * The users and groups that an image defines; null if it is absent, or defines them by something other than a
     * regular file. They are read from a container of the image, which is never started and is removed at once.
     */
    imageAccounts: (image: string): Promise<ImageAccounts | null> =>
      withDocker(async (docker) => {
        await removeLeft(docker);
        const creation = { Image: image, Cmd: ['none'], NetworkDisabled: true, Labels: { [accountsLabel]: '' } };
        const container = await ignoreNotFound(docker.createContainer(creation));
        if (container === null) return null;
        try {
          const [users, groups] = [await namesIn(container, '/etc/passwd'), await namesIn(container, '/etc/group')];
          return users && groups && { users, groups };
        } finally {
          await container.remove({ force: true, v: true });
        }
      }),
  };
}

async function removeLeft(docker: Docker): Promise<void> {
  const left = await docker.listContainers({ all: true, filters: { label: [accountsLabel] } });
  for (const { Id } of left) await ignoreNotFound(docker.getContainer(Id).remove({ force: true, v: true }), 409);
}

/** The first fields of the lines of a file; empty when it is missing, null when it is not a regular file. */
async function namesIn(container: Docker.Container, path: string): Promise<Set<string> | null> {
  const stream = await ignoreNotFound(container.getArchive({ path }));
  if (stream === null) return new Set();
  const tooLarge = () => new Error(`${path} of an image is too large`);
  const archive = Buffer.from(
    await collectBytes(stream as AsyncIterable<Buffer>, { maxBytes: maxAccountsBytes, tooLarge }),
  );
  const { type, size } = parseHeader(archive.subarray(0, blockBytes));
  if (type !== '0') return null;
  const lines = archive.toString('utf8', blockBytes, blockBytes + size).split('\n');
  return new Set(lines.flatMap((line) => line.split(':', 1)));
}
