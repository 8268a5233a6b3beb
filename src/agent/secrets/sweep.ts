/** Until the tick that gave its secrets back is over altogether. */
const PATIENCE_MS = 500;

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void;

/** Ticks that held nothing but the token: one in so many is swept up after, the first of a process among them. */
const ONE_IN = 10;

/** Told at the end of each tick whether it held the token alone; true where it is to be swept up after. */
export function createTurns(): (tokenAlone: boolean) => boolean {
  let ticks = 0;
  return (tokenAlone) => !tokenAlone || ticks++ % ONE_IN === 0;
}

/**
 * Has the runtime collect its garbage soon, so that copies of secrets do not lie around for as long as a loop sleeps: it
 * gives pages back that hold nothing any more. That takes longer than a tick that finds all well, and the token of such a
 * tick lies in its file anyway, so it has its turns. A process that ends before is not held up; who asks again begins anew.
 */
export function createSweep(): (tokenAlone: boolean) => void {
  const isDue = createTurns();
  let collect: Collect | null = null;
  let timer: NodeJS.Timeout | null = null;
  const sweep = () => {
    collect ??= exposed();
    collect({ type: 'major', flavor: 'last-resort' });
  };
  return (tokenAlone) => {
    if (!isDue(tokenAlone)) return;
    timer ??= setTimeout(sweep, PATIENCE_MS).unref();
    timer.refresh();
  };
}

/** Loaded here, since a process that runs one tick has no use for either. */
function exposed(): Collect {
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
}
