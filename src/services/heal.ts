import { failure, Fault } from '../../machines/fault.ts';
import { plain } from '../../machines/outcomes.ts';
import type { Host, Orders, Outcome } from '../../machines/words.ts';
import { bringBack, pointBack } from './apply/fallBack.ts';
import type { Tools } from './tools.ts';

/** Brings the applied release up again, once, on a host that is not well (spec §12). */
export async function heal(
  tools: Tools,
  { host, orders }: { host: Host; orders: Orders },
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, state, tick } = tools;
  if (!host.engine)
    throw failure('RUNTIME_UNAVAILABLE', `container engine at ${settings.container_host} does not answer`);
  const { applied_sha } = state.state;
  const hands = settings.heal && !(orders.pause !== null && settings.on_failure === 'leave');
  if (applied_sha === null) return nothingToHeal(tools, orders);
  if (!hands) return untouched(host, orders);
  try {
    await bringBack(tools, { sha: applied_sha, pull: 'missing' }, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'failed' || error.code === 'RUNTIME_UNAVAILABLE') throw error;
    if (error.code === 'UP_FAILED' && orders.desiredSha === applied_sha)
      await (await import('./forget.ts')).forgetUnlessHere(tools, applied_sha);
    return { ...plain('unhealthy'), code: error.code, lines: error.lines, tail: error.tail, reason: orders.reason };
  }
  const services = host.ailing.join(',');
  tick.journal.info(`healed: ${services || 'the applied release was brought up again and is well'}`);
  if (orders.pause !== null) return { ...plain('paused'), lines: [orders.pause.line] };
  return { ...plain('converged'), reason: `healed:${services}` };
}

/** A first apply that was cut short and is not wanted any more: nothing is applied, and that is healthy (spec §7.3). */
async function nothingToHeal(tools: Tools, orders: Orders): Promise<Outcome> {
  await pointBack(tools);
  await tools.state.update({ attempt: null });
  return orders.pause === null ? plain('converged') : { ...plain('paused'), lines: [orders.pause.line] };
}

function untouched({ ailing }: Host, { pause, reason }: Orders): Outcome {
  if (pause !== null) return { ...plain('paused'), lines: [pause.line] };
  return { ...plain('unhealthy'), code: 'UNHEALTHY', lines: [`unhealthy: ${ailing.join(', ')}`], reason };
}
