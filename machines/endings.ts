/**
 * How a tick can end (spec §8): the only source of the machine's final states, the exit codes, the reports and the docs
 * tables. `report` is the outcome word that the tenancy service receives; null: no report is sent.
 */
export const endings = {
  applied: ending(0, 'applied', 'the desired bundle is in force and healthy'),
  converged: ending(0, 'heartbeat', 'nothing to do; the host is healthy'),
  down: ending(0, 'down', 'the project is torn down'),
  bootstrapped: ending(0, null, 'the grant was exchanged for a token (`deployd bootstrap`)'),
  held: ending(0, 'heartbeat', 'an operator holds this host (`deployd hold`): what was to be done waits'),
  outsideWindow: ending(0, 'heartbeat', 'the desired bundle waits until a window of `apply.windows` opens'),
  offlineLaptop: ending(0, null, 'tenancy service, secretstore or mesh unreachable on a laptop, where that is normal'),
  refused: ending(1, 'refused', 'the bundle must not run; nothing was started'),
  failed: ending(1, 'failed', 'a step failed; the line says which'),
  unhealthy: ending(1, 'unhealthy', 'nothing to apply, but the host is not healthy and healing did not help'),
  paused: ending(1, null, 'the desired bundle failed before; its next try is not due yet'),
  tokenAtRisk: ending(1, null, 'all done, but the token could not be kept and is about to expire'),
  tokenAbsent: ending(1, null, 'no token and no bootstrap grant'),
  offlineAlarm: ending(1, null, 'offline, without a check-in for longer than `offline_alarm_s`'),
  unauthenticated: ending(1, null, 'the tenancy service or the mesh refuses this agent'),
  envMismatch: ending(78, null, 'the token belongs to another env than config.yaml'),
  offline: ending(75, null, 'tenancy service, secretstore or mesh unreachable'),
  busy: ending(75, null, 'another tick holds the lock'),
  interrupted: ending(75, null, 'the container engine went away in mid-tick'),
  superseded: ending(75, null, 'another bundle or a down was announced meanwhile; the next tick does that'),
  stopped: ending(75, null, 'cut short by SIGTERM; the next tick finishes it'),
} as const;

/** How a command can end without a tick: before the first one starts, or when the loop has stopped. */
export const commandEndings = {
  configInvalid: ending(78, null, 'the configuration or the way of starting is wrong; no tick was made'),
  loopStopped: ending(0, null, '`deployd run` was stopped by SIGTERM'),
} as const;

export type Ending = keyof typeof endings;

/** Outcome word of a report. */
export type ReportOutcome = 'applied' | 'heartbeat' | 'down' | 'refused' | 'failed' | 'unhealthy';

export const endingNames = Object.keys(endings) as Ending[];

function ending(exit: number, report: ReportOutcome | null, description: string) {
  return { type: 'final', description, meta: { exit, report } } as const;
}
