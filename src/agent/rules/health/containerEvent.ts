interface EventActor {
  ID: string;
  Attributes: { exitCode?: string; containerExitCode?: string };
}

/** Parses an event of the engine: the container that changed, and its exit code if it ended. Null when it is no event. */
export function parseContainerEvent(line: string): { id: string; exitCode: number | null } | null {
  try {
    const { Action, Actor } = JSON.parse(line) as { Action: string; Actor: EventActor };
    const { exitCode, containerExitCode = '' } = Actor.Attributes;
    // Podman adds an exit code to every event, also to those of running containers
    const code = /^died?$/.test(Action) ? Number.parseInt(exitCode ?? containerExitCode, 10) : NaN;
    return { id: Actor.ID, exitCode: Number.isNaN(code) ? null : code };
  } catch {
    return null;
  }
}
