import { lastObservedMs, type CrashWindow } from '../../rules/health/crashes.ts';
import type { ObserverDependencies } from '../dependencies.ts';

/** The times by which a crash counts now. */
export function crashWindowOf({ settings, state }: ObserverDependencies): CrashWindow {
  const nowMs = Date.now();
  return {
    nowMs,
    observedMs: lastObservedMs(state.state, nowMs),
    settleMs: settings.settle_s * 1000,
    intervalMs: settings.interval_s * 1000,
  };
}
