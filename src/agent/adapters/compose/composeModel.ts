import { failure, refused, type Fault } from '../../../../machines/fault.ts';
import { Gathered } from '../../../platform/collectBytes.ts';
import { wipe } from '../../secrets/wipe.ts';
import { unstartable, type Ran, type Run } from './process.ts';
import { exhausted } from './rlimits.ts';

/** The call that renders the model. */
export const rendering = { name: 'config', args: ['--format', 'json'], profile: '*', timeoutS: 60 };

/** Nobody writes so much by hand; what is bigger was made to exhaust the agent. */
const maxModelBytes = 32 * 1024 * 1024;

/** The model that a call renders, as parsed JSON; the bytes it came in are wiped. Throws `COMPOSE_REFUSED`, and where no compose could be started `COMPOSE_UNSUPPORTED`. */
export async function modelOf(render: (hear: Run['hear']) => Promise<Ran>): Promise<unknown> {
  const gathered = new Gathered();
  let bytes = 0;
  const { rc, unstarted, timedOut, reached, tail } = await render((chunk) => {
    bytes += chunk.length;
    if (bytes <= maxModelBytes) gathered.add(chunk);
  });
  const [last = ''] = tail.trim().split('\n').slice(-1);
  if (unstarted !== null) throw failure('COMPOSE_UNSUPPORTED', `docker compose config ${unstartable(unstarted)}`);
  if (timedOut) throw unreadable(`timed out after ${rendering.timeoutS}s`);
  if (reached !== null) throw unreadable(exhausted(reached));
  if (rc !== 0) throw unreadable(`rc=${rc}: ${last}`);
  if (bytes > maxModelBytes) throw unreadable('the model is bigger than 32 MiB');
  const whole = gathered.take();
  try {
    return parsed(whole.toString());
  } finally {
    wipe(whole);
  }
}

/** The parser's own error quotes what it read. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable('the model is no JSON');
  }
}

function unreadable(why: string): Fault {
  return refused([{ code: 'COMPOSE_REFUSED', detail: `docker compose config cannot read the bundle: ${why}` }]);
}
