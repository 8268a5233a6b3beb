import { clockMs } from '../journal/clock.ts';
import type { LiveLine } from '../journal/liveLine.ts';
import { progressText, type Progress } from '../rules/status/progress.ts';
import type { Tools } from '../services/tools.ts';
import type { Watcher } from './watch.ts';

/** Milliseconds between two looks at how far the work is. */
const LOOK_MS = 200;

/** A watcher that shows what the tick is at on one line of a terminal, and how far long work has come. */
export function showProgress(tools: Tools, live: LiveLine): Watcher {
  const at = new Map<string, { state: string; since: number }>();
  let asking = false;
  const draw = (progress: Progress | null) => {
    const [machine, { state, since }] = [...at].at(-1) ?? ['', { state: '', since: 0 }];
    if (machine !== '') live.show(progressText(state, (clockMs() - since) / 1000, progress));
  };
  const look = async () => {
    if (asking) return;
    asking = true;
    const { howFar } = tools.tick;
    const progress = await Promise.resolve(howFar?.() ?? null).catch(() => null);
    asking = false;
    draw(howFar === tools.tick.howFar ? progress : null);
  };
  const looking = setInterval(() => void look(), LOOK_MS).unref();
  return {
    moved: ({ machine, state }) => {
      at.delete(machine);
      at.set(machine, { state, since: clockMs() });
      draw(null);
    },
    left: (machine) => void at.delete(machine),
    ended: () => {
      clearInterval(looking);
      live.close();
    },
  };
}
