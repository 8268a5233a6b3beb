/** Delay after `clear`, so that the tick has ended. */
const SWEEP_DELAY_MS = 500;

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void;

/** One in this many ticks that held only the token is followed by a sweep, starting with the first. */
const TOKEN_ONLY_TICKS_PER_SWEEP = 10;

/**
 * Returns a function for the end of each tick: given whether the tick held only the token, it says whether a sweep is
 * due.
 */
export function createSweepSchedule(): (tokenOnly: boolean) => boolean {
  let ticks = 0;
  return (tokenOnly) => !tokenOnly || ticks++ % TOKEN_ONLY_TICKS_PER_SWEEP === 0;
}

/**
 * Schedules a garbage collection, which returns unused pages to the kernel, so that no copies of secrets stay in memory
 * while a loop sleeps.
 * - It takes longer than a healthy tick, and the token of such a tick is also in its file. Therefore it does not run
 * after every tick.
 * - It does not keep the process alive, and a further call restarts the delay.
 */
export function createMemorySweep(): (tokenOnly: boolean) => void {
  const isDue = createSweepSchedule();
  let collect: Collect | null = null;
  let timer: NodeJS.Timeout | null = null;
  const sweep = () => {
    collect ??= exposedGc();
    collect({ type: 'major', flavor: 'last-resort' });
  };
  return (tokenOnly) => {
    if (!isDue(tokenOnly)) return;
    timer ??= setTimeout(sweep, SWEEP_DELAY_MS).unref();
    timer.refresh();
  };
}

/** Loads the modules on demand: a process that runs a single tick needs neither. */
function exposedGc(): Collect {
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
}

/** Overwrites buffers that may hold a secret: freed memory keeps its bytes until it is reused. */
export function wipe(...buffers: readonly Buffer[]): void {
  for (const buffer of buffers) buffer.fill(0);
}
