/**
 * How a tick can end: the one table that the machine's final states, the exit codes, the reports and the docs come from
 * (spec §8). `report` is the outcome word sent to the tenancy service, null where nothing is told.
 */
export const endings = {
  applied: ends(0, 'applied', 'the desired bundle is in force and healthy'),
  converged: ends(0, 'heartbeat', 'nothing to do; the host is healthy'),
  down: ends(0, 'down', 'the project is torn down'),
  bootstrapped: ends(0, null, 'the grant was exchanged for a token (`deployd bootstrap`)'),
  offlineLaptop: ends(0, null, 'tenancy service, secretstore or mesh unreachable on a laptop, where that is normal'),
  refused: ends(1, 'refused', 'the bundle must not run; nothing was started'),
  failed: ends(1, 'failed', 'a step failed; the line says which'),
  unhealthy: ends(1, 'unhealthy', 'nothing to apply, but the host is not healthy and healing did not help'),
  paused: ends(1, null, 'the desired bundle failed before; its next try is not due yet'),
  tokenAtRisk: ends(1, null, 'all done, but the token could not be kept and is about to expire'),
  tokenAbsent: ends(1, null, 'no token and no bootstrap grant'),
  unauthenticated: ends(1, null, 'the tenancy service or the mesh refuses this agent'),
  envMismatch: ends(78, null, 'the token belongs to another env than config.yaml'),
  offline: ends(75, null, 'tenancy service, secretstore or mesh unreachable'),
  busy: ends(75, null, 'another tick holds the lock'),
  interrupted: ends(75, null, 'the container engine went away in mid-tick'),
  stopped: ends(75, null, 'cut short by SIGTERM; the next tick finishes it'),
} as const;

/** How a command can end without a tick: before one begins, or when the loop is over. */
export const otherEndings = {
  configInvalid: ends(78, null, 'the configuration or the way of starting is wrong; no tick was made'),
  loopStopped: ends(0, null, '`deployd run` was stopped by SIGTERM'),
} as const;

export type Ending = keyof typeof endings;

/** Outcome words of a report. */
export type ReportWord = 'applied' | 'heartbeat' | 'down' | 'refused' | 'failed' | 'unhealthy';

export const endingNames = Object.keys(endings) as Ending[];

function ends(exit: number, report: ReportWord | null, description: string) {
  return { type: 'final', description, meta: { exit, report } } as const;
}
