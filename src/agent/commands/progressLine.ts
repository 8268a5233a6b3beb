import { monotonicMs } from '../../core/clock.ts';
import type { LiveLine } from '../journal/liveLine.ts';
import { formatProgress, type Progress } from '../rules/status/progress.ts';
import type { Dependencies } from '../services/dependencies.ts';
import type { MachineObserver } from './machineObserver.ts';

/** Milliseconds between two progress queries. */
const POLL_MS = 200;

/** An observer that shows the current state of the tick, and the progress of long steps, on one line of the terminal. */
export function showProgress(deps: Dependencies, live: LiveLine): MachineObserver {
  const current = new Map<string, { state: string; since: number }>();
  let isPolling = false;
  const draw = (progress: Progress | null) => {
    const [machine, { state, since }] = [...current].at(-1) ?? ['', { state: '', since: 0 }];
    if (machine !== '') live.show(formatProgress(state, (monotonicMs() - since) / 1000, progress));
  };
  const poll = async () => {
    if (isPolling) return;
    isPolling = true;
    const { readProgress } = deps.tick;
    const progress = await Promise.resolve(readProgress?.() ?? null).catch(() => null);
    isPolling = false;
    draw(readProgress === deps.tick.readProgress ? progress : null);
  };
  const timer = setInterval(() => void poll(), POLL_MS).unref();
  return {
    transitioned: ({ machine, state }) => {
      current.delete(machine);
      current.set(machine, { state, since: monotonicMs() });
      draw(null);
    },
    machineEnded: (machine) => void current.delete(machine),
    tickEnded: () => {
      clearInterval(timer);
      live.close();
    },
  };
}
