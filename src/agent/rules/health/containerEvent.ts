interface EventActor {
  ID: string;
  Attributes: { exitCode?: string; containerExitCode?: string };
}

/** A change of a container, its exit code if it ended, and its time in milliseconds if the engine tells it. */
export interface ContainerChange {
  id: string;
  exitCode: number | null;
  atMs?: number;
}

/** Parses an event of the engine: the container that changed, and its exit code if it ended. Null when it is no event. */
export function parseContainerEvent(line: string): ContainerChange | null {
  try {
    const event = JSON.parse(line) as { Action: string; Actor: EventActor; time?: number; timeNano?: number };
    const { Action, Actor, time, timeNano = (time ?? NaN) * 1e9 } = event;
    const { exitCode, containerExitCode = '' } = Actor.Attributes;
    // Podman adds an exit code to every event, also to those of running containers
    const code = /^died?$/.test(Action) ? Number.parseInt(exitCode ?? containerExitCode, 10) : NaN;
    const at = Number.isNaN(timeNano) ? {} : { atMs: timeNano / 1e6 };
    return { id: Actor.ID, exitCode: Number.isNaN(code) ? null : code, ...at };
  } catch {
    return null;
  }
}
