import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Until the tick that gave its secrets back is over altogether. */
const PATIENCE_MS = 500;

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void;

/**
 * Has the runtime collect its garbage soon, so that copies of secrets do not lie around for as long as a loop sleeps: it
 * gives pages back that hold nothing any more. A process that ends before is not held up.
 */
export function sweepSoon(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as Collect;
    collect({ type: 'major', flavor: 'last-resort' });
  }, PATIENCE_MS).unref();
}
