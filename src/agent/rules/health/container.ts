import { healthOf, type Inspected, type Listed } from './health.ts';
import { probeOf } from './containerLog.ts';

/** One container as the engine's list tells it. */
export interface ListEntry {
  Id: string;
  /** Each with a slash before it; a link to it has two. */
  Names: string[] | null;
  State: string;
  /** `Up 3 hours (healthy)`: for people, and the only place where a list tells health. */
  Status: string;
  Labels: Labels;
}

/** What is read of the engine's inspection of a container; its environment is in it too. */
export interface Inspection {
  Id: string;
  Name: string;
  Image: string;
  RestartCount: number;
  State: {
    Status: string;
    StartedAt: string;
    ExitCode: number;
    Health?: { Status: string; Log: { Output: string }[] | null };
  };
  HostConfig: { RestartPolicy?: { Name: string } };
  Config: { Image: string; Labels: Labels; Healthcheck?: { Test?: string[] | null } | null };
  Mounts: Mount[];
  NetworkSettings?: Attached;
}

interface Mount {
  Source: string;
  /** Of a volume. */
  Name?: string;
}

interface Attached {
  Networks?: Record<string, unknown> | null;
}

/** One container of the engine's list, as far as it tells what the container holds on to. */
export interface HolderEntry extends Pick<ListEntry, 'Id' | 'Names' | 'Labels'> {
  Image: string;
  ImageID: string;
  Mounts: Mount[] | null;
  NetworkSettings?: Attached | null;
}

/** A container, whoever made it, and what cannot be removed while it is there. */
export interface Holder {
  id: string;
  name: string;
  /** Compose project, null without one. */
  project: string | null;
  /** The reference that it was made of, or an id. */
  image: string;
  imageId: string;
  /** Sources of its mounts on the host. */
  mounts: string[];
  /** Names of its volumes and networks. */
  volumes: string[];
  networks: string[];
}

/** What an engine does not tell in minutes any more. */
const hourMs = 3_600_000;

type Labels = Record<string, string> | null;

/** `Up`, a time, and how its healthcheck finds it if there is one; neither `(Paused)` nor what a later engine may say. */
const up = /^Up ([\w ]+?)(?: \((?:(healthy|unhealthy)|health: (starting))\))?$/;

/** Made by `compose run`: no part of its service. */
export function isOneOff({ Labels }: { Labels: Labels }): boolean {
  return Labels?.['com.docker.compose.oneoff'] === 'True';
}

/** A container that runs; null where the list does not say beyond doubt how it is. */
export function listedOf(entry: ListEntry): Listed | null {
  const { Names, State, Status } = entry;
  const words = up.exec(Status);
  const name = Names?.find((each) => each.lastIndexOf('/') === 0)?.slice(1);
  if (State !== 'running' || words === null || name === undefined) return null;
  const [, time = '', probed, unprobed] = words;
  const of = { id: entry.Id, service: serviceOf(entry), name };
  return { ...of, state: State, health: probed ?? unprobed ?? null, upMs: uptimeOf(time) };
}

/** At least and less than so many milliseconds, of `8 seconds`, `About a minute`, `2 hours` … */
function uptimeOf(time: string): [number, number] {
  if (time === 'Less than a second') return [0, 1000];
  const [, told, unit] = /^(\d+|About a) (second|minute)s?$/.exec(time) ?? [];
  if (unit === undefined) return [hourMs, Infinity];
  const unitMs = unit === 'second' ? 1000 : 60_000;
  const count = told === 'About a' ? 1 : Number(told);
  return [count * unitMs, (count + 1) * unitMs];
}

/** A container of which the engine tells all. */
export function inspectedOf(info: Inspection): Inspected {
  const { State, HostConfig, Config } = info;
  return {
    id: info.Id,
    service: serviceOf(Config),
    oneOff: isOneOff(Config),
    name: info.Name.replace(/^\//, ''),
    state: State.Status,
    health: healthOf(State.Health?.Status) ?? (isChecked(Config) ? 'starting' : null),
    exitCode: State.ExitCode,
    startedMs: Date.parse(State.StartedAt),
    restarts: info.RestartCount,
    restartPolicy: HostConfig.RestartPolicy?.Name || 'no',
    image: Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source),
    healthLog: (State.Health?.Log ?? []).map(({ Output }) => probeOf(Output)),
  };
}

/** Whether it has a healthcheck, of the image or of the compose file, though no probe was made yet. */
function isChecked({ Healthcheck }: Inspection['Config']): boolean {
  const [kind = 'NONE'] = Healthcheck?.Test ?? [];
  return kind !== 'NONE';
}

function serviceOf({ Labels }: { Labels: Labels }): string {
  return Labels?.['com.docker.compose.service'] ?? '';
}

/** What a container holds on to, by the engine's list. */
export function holderOfEntry({ Id, Names, Labels, Image, ImageID, Mounts, NetworkSettings }: HolderEntry): Holder {
  const Name = Names?.find((each) => each.lastIndexOf('/') === 0) ?? Id;
  const about = { Id, Name, Image: ImageID, Mounts: Mounts ?? [], Config: { Image, Labels } };
  return holderOf({ ...about, ...(NetworkSettings && { NetworkSettings }) });
}

/** The same by an inspection. */
export function holderOf(
  info: Pick<Inspection, 'Id' | 'Name' | 'Image' | 'Config' | 'Mounts' | 'NetworkSettings'>,
): Holder {
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ''),
    project: info.Config.Labels?.['com.docker.compose.project'] ?? null,
    image: info.Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source).filter((source) => source !== ''),
    volumes: info.Mounts.flatMap(({ Name }) => Name ?? []),
    networks: Object.keys(info.NetworkSettings?.Networks ?? {}),
  };
}

interface EventActor {
  ID: string;
  Attributes: { exitCode?: string; containerExitCode?: string };
}

/** What an event of the engine tells: the container that changed, and the code with which it ended; null for what is none. */
export function changeIn(line: string): { id: string; exitCode: number | null } | null {
  try {
    const { Action, Actor } = JSON.parse(line) as { Action: string; Actor: EventActor };
    const { exitCode, containerExitCode = '' } = Actor.Attributes;
    // Podman puts a code into every event, of whoever has not ended too
    const code = /^died?$/.test(Action) ? Number.parseInt(exitCode ?? containerExitCode, 10) : NaN;
    return { id: Actor.ID, exitCode: Number.isNaN(code) ? null : code };
  } catch {
    return null;
  }
}
