import { failure, Fault } from '../../../../machines/fault.ts';
import { plain } from '../../../../machines/outcomes.ts';
import type { Host, Orders, Outcome } from '../../../../machines/words.ts';
import type { State } from '../../rules/state/state.ts';
import { bringBack, pointBack } from '../apply/fallBack.ts';
import { forgetApplied } from '../tick/recall.ts';
import type { Tools } from '../tools.ts';

type Attempt = NonNullable<State['attempt']>;

/** Brings the applied release up again, once, on a host that is not well (spec §12). */
export async function heal(
  tools: Tools,
  { host, orders }: { host: Host; orders: Orders },
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, state, tick } = tools;
  if (!host.engine)
    throw failure('RUNTIME_UNAVAILABLE', `container engine at ${settings.container_host} does not answer`);
  const { applied_sha, attempt } = state.state;
  const hands = settings.heal && !(orders.pause !== null && settings.on_failure === 'leave');
  if (applied_sha === null) return nothingToHeal(tools, orders);
  if (!hands && (attempt === null || isLeft(attempt, orders) || attempt.phase === 'promoted'))
    return untouched(tools, { host, orders });
  try {
    await bringBack(tools, { sha: applied_sha, pull: 'missing' }, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'failed' || error.code === 'RUNTIME_UNAVAILABLE') throw error;
    if (orders.desiredSha === applied_sha) await applyAnew(tools, applied_sha, error);
    return { ...plain('unhealthy'), code: error.code, lines: error.lines, tail: error.tail, reason: orders.reason };
  }
  tick.journal.info(`healed: ${host.ailing.join(',') || 'the applied release was brought up again and is well'}`);
  if (orders.pause !== null) return { ...plain('paused'), lines: [orders.pause.line] };
  const services = host.ailing.length > 0 ? host.ailing : await servicesOf(tools, applied_sha);
  return { ...plain('converged'), reason: `healed:${services.join(',')}` };
}

/** What a heal cannot get, an apply may: it logs in to registries, and takes whatever image a tag stands for today. */
async function applyAnew(tools: Tools, sha: string, { code }: Fault): Promise<void> {
  if (code === 'UP_FAILED') await (await import('../release/forget.ts')).forgetUnlessHere(tools, sha);
  if (code === 'RELEASE_INCOMPLETE') await forgetApplied(tools, sha, 'cannot run again as it did');
}

/** A first apply that was cut short and is not wanted any more: nothing is applied, and that is healthy (spec §7.3). */
async function nothingToHeal(tools: Tools, orders: Orders): Promise<Outcome> {
  await pointBack(tools);
  await tools.state.update({ attempt: null });
  return orders.pause === null ? plain('converged') : { ...plain('paused'), lines: [orders.pause.line] };
}

/**
 * With `heal: false`. Of an attempt that was cut short before it touched a container only `current` goes back; one that was
 * left for diagnosis is over once the release that is applied, which was to be applied again, is well by itself.
 */
async function untouched(tools: Tools, { host, orders }: { host: Host; orders: Orders }): Promise<Outcome> {
  const { applied_sha, attempt } = tools.state.state;
  const isOver = attempt?.phase === 'promoted' || (attempt?.sha === applied_sha && host.ailing.length === 0);
  if (attempt !== null && isOver) {
    if (attempt.phase === 'promoted') await pointBack(tools);
    await tools.state.update({ attempt: null, baseline: null });
  }
  const { pause, reason } = orders;
  if (pause !== null) return { ...plain('paused'), lines: [pause.line] };
  if (isOver && host.ailing.length === 0) return plain('converged');
  const ill = host.ailing.join(', ') || `the attempt of ${attempt?.sha ?? 'a release'} was left half made`;
  return { ...plain('unhealthy'), code: 'UNHEALTHY', lines: [`unhealthy: ${ill}`], reason };
}

/** Left for diagnosis (`on_failure: leave`), and what is wanted still. Any other attempt is finished or undone: that heals nothing. */
function isLeft({ sha, phase }: Attempt, { desiredSha }: Orders): boolean {
  return phase === 'left' && sha === desiredSha;
}

async function servicesOf({ releases }: Tools, sha: string): Promise<string[]> {
  return ((await releases.readRecord(sha))?.services ?? []).map(({ name }) => name).sort();
}
