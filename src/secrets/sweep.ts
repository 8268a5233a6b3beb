/** Until the tick that gave its secrets back is over altogether. */
const PATIENCE_MS = 500;

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void;

/**
 * Has the runtime collect its garbage soon, so that copies of secrets do not lie around for as long as a loop sleeps: it
 * gives pages back that hold nothing any more. A process that ends before is not held up; who asks again begins anew.
 */
export function createSweep(): () => void {
  let collect: Collect | null = null;
  let timer: NodeJS.Timeout | null = null;
  const sweep = () => {
    collect ??= exposed();
    collect({ type: 'major', flavor: 'last-resort' });
  };
  return () => {
    timer ??= setTimeout(sweep, PATIENCE_MS).unref();
    timer.refresh();
  };
}

/** Loaded here, since a process that runs one tick has no use for either. */
function exposed(): Collect {
  process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
  return process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
}
