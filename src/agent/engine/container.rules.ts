import { type LogExcerpt, parseProbeOutput } from './logs.rules.ts';

/** One container in the engine's list. */
export interface ContainerListEntry {
  Id: string;
  /** Each starts with a slash; the name of a link contains a second one. */
  Names: string[] | null;
  State: string;
  /** Text such as `Up 3 hours (healthy)`: the only field of a list that contains the health. */
  Status: string;
  Labels: Labels;
  ImageID?: string;
  Mounts?: Mount[] | null;
  NetworkSettings?: AttachedNetworks | null;
  HostConfig?: Pick<NamespaceModes, 'NetworkMode'>;
}

/** The creation parameters and networks of a container: facts that the engine's list contains. */
export interface CreationFacts {
  imageId: string;
  /** Names, sorted. */
  networks: string[];
  volumes: MountedVolume[];
  /** Its number among the replicas of the service; '' for a container of another tool. */
  number: string;
  /** Labels by which compose and the agent recognise what they created; '' where one is missing. */
  configHash: string;
  composeVersion: string;
  content: string;
}

/** The namespaces of a container: `container:<id or name>` if it shares the namespace of another container. */
interface NamespaceModes {
  NetworkMode?: string;
  PidMode?: string;
  IpcMode?: string;
}

/** The fields used of a container's inspection, which also contains the environment and so secrets. */
export interface ContainerInspection {
  Id: string;
  Name: string;
  Image: string;
  Created: string;
  RestartCount: number;
  State: {
    Status: string;
    StartedAt: string;
    FinishedAt?: string;
    ExitCode: number;
    OOMKilled?: boolean;
    Error?: string;
    Health?: { Status: string; FailingStreak?: number; Log: { Output: string }[] | null };
  };
  HostConfig: { RestartPolicy?: { Name: string } } & NamespaceModes;
  Config: { Image: string; Labels: Labels; Healthcheck?: { Test?: string[] | null; Retries?: number } | null };
  Mounts: Mount[];
  NetworkSettings?: AttachedNetworks;
}

/** One mount of a container. */
export interface Mount {
  Source: string;
  /** Only for a volume. */
  Name?: string;
  Destination?: string;
  /** Whether the container may write there. */
  RW?: boolean;
}

/** The networks that a container is attached to, by name. */
export interface AttachedNetworks {
  Networks?: Record<string, unknown> | null;
}

/** From an hour on, an engine's uptime is too coarse to be used. */
const hourMs = 3_600_000;

/** Number of failed probes that make a container unhealthy if its healthcheck does not define it. */
const defaultRetries = 3;

type Labels = Record<string, string> | null;

/** `Up`, an uptime, and the health if there is a healthcheck; any other text, such as `(Paused)`, does not match. */
const runningStatus = /^Up ([\w ]+?)(?: \((?:(healthy|unhealthy)|health: (starting))\))?$/;

/** True for a container of `compose run`, which is not part of its service. */
export function isOneOff({ Labels }: { Labels: Labels }): boolean {
  return Labels?.['com.docker.compose.oneoff'] === 'True';
}

/** A running container; null when its list entry is ambiguous, so that it must be inspected. */
export function parseListEntry(entry: ContainerListEntry): ListedContainer | null {
  const { Names, State, Status } = entry;
  const match = runningStatus.exec(Status);
  const name = Names?.find((each) => each.lastIndexOf('/') === 0)?.slice(1);
  if (State !== 'running' || match === null || name === undefined) return null;
  const [, time = '', health, starting] = match;
  const of = { id: entry.Id, service: serviceOf(entry), name, ...sharesOf(entry.HostConfig) };
  return { ...of, state: State, health: health ?? starting ?? null, upMs: parseUptime(time) };
}

/** Minimum (included) and maximum (excluded), in milliseconds, of `8 seconds`, `About a minute`, `2 hours` … */
function parseUptime(time: string): [number, number] {
  if (time === 'Less than a second') return [0, 1000];
  const [, amount, unit] = /^(\d+|About a) (second|minute)s?$/.exec(time) ?? [];
  if (unit === undefined) return [hourMs, Infinity];
  const unitMs = unit === 'second' ? 1000 : 60_000;
  const count = amount === 'About a' ? 1 : Number(amount);
  return [count * unitMs, (count + 1) * unitMs];
}

/** The facts of an inspected container. */
export function parseInspection(info: ContainerInspection): InspectedContainer {
  const { State, HostConfig, Config } = info;
  return {
    id: info.Id,
    service: serviceOf(Config),
    oneOff: isOneOff(Config),
    name: info.Name.replace(/^\//, ''),
    state: State.Status,
    health: parseHealth(State.Health?.Status) ?? (hasHealthcheck(Config) ? 'starting' : null),
    exitCode: State.ExitCode,
    oomKilled: State.OOMKilled === true,
    startError: State.Error ?? '',
    startedMs: Date.parse(State.StartedAt),
    createdMs: Date.parse(info.Created),
    ...finishOf(State.FinishedAt),
    restarts: info.RestartCount,
    failingStreak: State.Health?.FailingStreak ?? 0,
    retries: Config.Healthcheck?.Retries || defaultRetries,
    restartPolicy: HostConfig.RestartPolicy?.Name || 'no',
    ...sharesOf(HostConfig),
    image: Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source),
    healthLog: (State.Health?.Log ?? []).map(({ Output }) => parseProbeOutput(Output)),
  };
}

/** An engine gives the year 1 to a container that never ended. */
function finishOf(finishedAt = ''): Pick<InspectedContainer, 'finishedMs'> {
  const finishedMs = Date.parse(finishedAt);
  return finishedMs > 0 ? { finishedMs } : {};
}

function sharesOf({ NetworkMode, PidMode, IpcMode }: NamespaceModes = {}): { shares?: SharedNamespace[] } {
  const modes = Object.entries({ network: NetworkMode, pid: PidMode, ipc: IpcMode });
  const shares = modes.flatMap(([part, mode = '']) => {
    const [, owner] = /^container:(.+)$/.exec(mode) ?? [];
    return owner === undefined ? [] : [{ part: part as SharedNamespace['part'], owner }];
  });
  return shares.length === 0 ? {} : { shares };
}

/** True when the image or the compose file defines a healthcheck, even before its first probe. */
function hasHealthcheck({ Healthcheck }: ContainerInspection['Config']): boolean {
  const [kind = 'NONE'] = Healthcheck?.Test ?? [];
  return kind !== 'NONE';
}

/** The facts of a list entry. */
export function creationFactsOf({ Labels, ImageID = '', Mounts, NetworkSettings }: ContainerListEntry): CreationFacts {
  return {
    imageId: ImageID,
    networks: Object.keys(NetworkSettings?.Networks ?? {}).sort(),
    volumes: (Mounts ?? []).flatMap(({ Name, Destination = '' }) =>
      Name ? [{ name: Name, target: Destination }] : [],
    ),
    number: Labels?.['com.docker.compose.container-number'] ?? '',
    configHash: Labels?.['com.docker.compose.config-hash'] ?? '',
    composeVersion: Labels?.['com.docker.compose.version'] ?? '',
    content: Labels?.[contentLabel] ?? '',
  };
}

function serviceOf({ Labels }: { Labels: Labels }): string {
  return Labels?.['com.docker.compose.service'] ?? '';
}

/** A namespace of another container that a container shares. */
export interface SharedNamespace {
  part: 'network' | 'pid' | 'ipc';
  /** Id or name of the other container. */
  owner: string;
}

/** One container by its inspection. */
export interface InspectedContainer {
  id: string;
  service: string;
  /** Created by `compose run`: it uses resources, but is not part of the service. */
  oneOff: boolean;
  name: string;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`. */
  state: string;
  /** `starting`, `healthy` or `unhealthy`, in every state; null without a healthcheck. */
  health: string | null;
  exitCode: number;
  /** The kernel ended a process of its last run because it was out of memory. */
  oomKilled: boolean;
  /** The engine's message why it could not start the container; '' if it could. */
  startError: string;
  /** Last start by the engine's clock, in milliseconds since 1970. */
  startedMs: number;
  /** Its creation by the engine's clock, in milliseconds since 1970. */
  createdMs: number;
  /** Its last end in the same way; absent for one that never ended. */
  finishedMs?: number;
  /** Restarts by the engine since the last start by anybody else. */
  restarts: number;
  /** Failed health probes in a row, and how many of them make it unhealthy. */
  failingStreak: number;
  retries: number;
  /** `no`, `always`, `on-failure`, `unless-stopped`. */
  restartPolicy: string;
  /** Absent if there are no such mounts. */
  shares?: readonly SharedNamespace[];
  image: string;
  imageId: string;
  /** Sources of its mounts on the host. */
  mounts: string[];
  /** Output of its last health probes. */
  healthLog: LogExcerpt[];
}

/** A running container by the engine's list, which does not contain the environment. */
export type ListedContainer = Pick<InspectedContainer, 'id' | 'service' | 'name' | 'health' | 'shares'> & {
  state: 'running';
  /** Minimum (included) and maximum (excluded) of its uptime, in milliseconds. */
  upMs: [number, number];
};

/** A container, inspected only if its list entry is not enough to determine its health. */
export type ObservedContainer = ListedContainer | InspectedContainer;

/** The engine's health status; null without a healthcheck, for which Docker sends nothing or `none`, Podman ''. */
export function parseHealth(status: string | undefined): string | null {
  return status === undefined || status === '' || status === 'none' ? null : status;
}

/** True for a container that the engine starts again after every end. */
export function isRestartedByEngine({ restartPolicy }: Pick<InspectedContainer, 'restartPolicy'>): boolean {
  return restartPolicy === 'always' || restartPolicy === 'unless-stopped';
}

/** A volume and the path in the container where it is mounted. */
export interface MountedVolume {
  name: string;
  target: string;
}

/**
 * Label of a container: a digest of the content that its service mounts and reads, with a key of this host (spec §12).
 */
export const contentLabel = 'deployd.content';

/** The content labels of an override, by service. */
export function contentLabelsOf(override: string | null): ReadonlyMap<string, string> {
  const parsed = JSON.parse(override ?? '{}') as {
    services?: Record<string, { labels?: Record<string, string> }>;
  };
  return new Map(
    Object.entries(parsed.services ?? {}).flatMap(([service, { labels }]): [string, string][] => {
      const label = labels?.[contentLabel];
      return label === undefined ? [] : [[service, label]];
    }),
  );
}

interface EventActor {
  ID: string;
  Attributes: { exitCode?: string; containerExitCode?: string };
}

/** A change of a container, its exit code if it ended, and its time in milliseconds if the engine reports one. */
interface ContainerChange {
  id: string;
  exitCode: number | null;
  atMs?: number;
}

/** Parses an event of the engine: the container that changed, and its exit code if it ended. Null when it is not an event. */
export function parseContainerEvent(line: string): ContainerChange | null {
  try {
    const event = JSON.parse(line) as { Action: string; Actor: EventActor; time?: number; timeNano?: number };
    const { Action, Actor, time, timeNano = (time ?? NaN) * 1e9 } = event;
    const { exitCode, containerExitCode = '' } = Actor.Attributes;
    // Podman adds an exit code to every event, also for running containers
    const code = /^died?$/.test(Action) ? Number.parseInt(exitCode ?? containerExitCode, 10) : NaN;
    const at = Number.isNaN(timeNano) ? {} : { atMs: timeNano / 1e6 };
    return { id: Actor.ID, exitCode: Number.isNaN(code) ? null : code, ...at };
  } catch {
    return null;
  }
}

/** One end of a container. */
export interface TimedExit {
  /** Milliseconds; all exits of a container by one clock. */
  atMs: number;
  code: number;
}
