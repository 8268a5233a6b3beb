import { parseHealth, type InspectedContainer, type ListedContainer, type SharedNamespace } from './health.ts';
import { contentLabel } from '../release/contentLabel.ts';
import type { MountedVolume } from '../release/releaseRecord.ts';
import { parseProbeOutput } from './containerLog.ts';

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

/** What a container was created as, and its networks: facts that the engine's list contains. */
export interface CreationFacts {
  imageId: string;
  /** Names, sorted. */
  networks: string[];
  volumes: MountedVolume[];
  /** Its number among the replicas of the service; '' where another tool gave none. */
  number: string;
  /** Labels by which compose and the agent recognise what they created; '' where one is missing. */
  configHash: string;
  composeVersion: string;
  content: string;
}

/** The namespaces of a container: `container:<id or name>` for those of another one. */
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
}

/** The networks that a container is attached to, by name. */
export interface AttachedNetworks {
  Networks?: Record<string, unknown> | null;
}

/** From an hour on, an engine's uptime is too coarse to be used. */
const hourMs = 3_600_000;

/** Failed probes that make a container unhealthy where its healthcheck names no number. */
const defaultRetries = 3;

type Labels = Record<string, string> | null;

/** `Up`, an uptime, and the health if there is a healthcheck; any other text, such as `(Paused)`, does not match. */
const runningStatus = /^Up ([\w ]+?)(?: \((?:(healthy|unhealthy)|health: (starting))\))?$/;

/** True for a container of `compose run`, which is no part of its service. */
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
