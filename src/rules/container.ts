import { healthOf, type Inspected, type Listed } from './health.ts';
import { probeOf } from './written.ts';

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
  State: {
    Status: string;
    StartedAt: string;
    ExitCode: number;
    Health?: { Status: string; Log: { Output: string }[] | null };
  };
  HostConfig: { RestartPolicy?: { Name: string } };
  Config: { Image: string; Labels: Labels };
  Mounts: { Source: string }[];
}

type Labels = Record<string, string> | null;

/** `Up`, a time, and how its healthcheck finds it if there is one; neither `(Paused)` nor what a later engine may say. */
const up = /^Up [\w ]+?(?: \((?:(healthy|unhealthy)|health: (starting))\))?$/;

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
  return { service: serviceOf(entry), name, state: State, health: words[1] ?? words[2] ?? null };
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
    health: healthOf(State.Health?.Status),
    exitCode: State.ExitCode,
    startedMs: Date.parse(State.StartedAt),
    restartPolicy: HostConfig.RestartPolicy?.Name || 'no',
    image: Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source),
    healthLog: (State.Health?.Log ?? []).map(({ Output }) => probeOf(Output)),
  };
}

function serviceOf({ Labels }: { Labels: Labels }): string {
  return Labels?.['com.docker.compose.service'] ?? '';
}
