/**
 * How a tick can end (spec §8): the only source of the machine's final states, the exit codes, the reports and the docs
 * tables. `report` is the outcome word that the tenancy service receives; null: no report is sent.
 */
export const endings = {
  applied: ending(0, 'applied', 'the desired bundle is applied and healthy'),
  converged: ending(0, 'heartbeat', 'nothing to do; the host is healthy'),
  down: ending(0, 'down', 'the project was taken down'),
  bootstrapped: ending(0, null, 'the grant was exchanged for a token (`deployd bootstrap`)'),
  held: ending(0, 'heartbeat', 'deployments are paused (`deployd hold`): the change waits'),
  outsideWindow: ending(0, 'heartbeat', 'the desired bundle waits until a window of `apply.windows` opens'),
  offlineLaptop: ending(0, null, 'tenancy service, secretstore or mesh unreachable; normal on a laptop'),
  refused: ending(1, 'refused', 'the bundle was refused; nothing was started'),
  failed: ending(1, 'failed', 'a step failed; the line names it'),
  unhealthy: ending(1, 'unhealthy', 'nothing to apply, but the host is unhealthy and healing did not help'),
  paused: ending(1, null, 'the desired bundle has failed; its next attempt is not due yet'),
  tokenAtRisk: ending(1, null, 'everything else succeeded, but the token could not be renewed and expires soon'),
  tokenAbsent: ending(1, null, 'no token and no bootstrap grant'),
  offlineAlarm: ending(1, null, 'offline; no check-in for longer than `offline_alarm_s`'),
  unauthenticated: ending(1, null, 'the tenancy service or the mesh refuses this agent'),
  envMismatch: ending(78, null, 'the token belongs to an environment other than `env` in config.yaml'),
  offline: ending(75, null, 'tenancy service, secretstore or mesh unreachable'),
  busy: ending(75, null, 'another tick holds the lock'),
  interrupted: ending(75, null, 'the container engine stopped during the tick'),
  superseded: ending(75, null, 'another bundle or a down was announced during the tick; the next tick does that'),
  stopped: ending(75, null, 'ended early by SIGTERM; the next tick continues'),
} as const;

/** How a command can end without a tick: before the first one starts, or when the loop has stopped. */
export const commandEndings = {
  configInvalid: ending(78, null, 'the configuration or the user is wrong; no tick ran'),
  loopStopped: ending(0, null, '`deployd run` was stopped by SIGTERM'),
} as const;

export type Ending = keyof typeof endings;

/** Outcome word of a report. */
export type ReportOutcome = 'applied' | 'heartbeat' | 'down' | 'refused' | 'failed' | 'unhealthy';

export const endingNames = Object.keys(endings) as Ending[];

function ending(exit: number, report: ReportOutcome | null, description: string) {
  return { type: 'final', description, meta: { exit, report } } as const;
}
