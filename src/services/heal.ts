import { failure, Fault } from '../../machines/fault.ts';
import { plain } from '../../machines/outcomes.ts';
import type { Host, Orders, Outcome } from '../../machines/words.ts';
import { hostOf } from '../rules/imageName.ts';
import { parseManifest } from '../rules/manifest.ts';
import { bringBack, pointBack } from './apply/fallBack.ts';
import { manifestText } from './apply/unpack.ts';
import { forgetApplied } from './recall.ts';
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
    if (error.code === 'UP_FAILED' && orders.desiredSha === applied_sha) await forgetUnlessHere(tools, applied_sha);
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

/**
 * Heals have no login for a registry: those come from the secretstore, which only an apply asks. Where an image is gone
 * that lies behind one, the release does not count as applied, so that the next check-in is answered with an apply.
 */
async function forgetUnlessHere(tools: Tools, sha: string): Promise<void> {
  const { containers, releases } = tools;
  const hosts = await loginsOf(tools, sha);
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  const behind = images.map(({ reference }) => reference).filter((reference) => hosts.has(hostOf(reference)));
  const ids = await Promise.all(behind.map((reference) => containers.imageId(reference)));
  const gone = behind.filter((_, place) => ids[place] === null);
  if (gone.length === 0) return;
  const registries = [...new Set(gone.map(hostOf))];
  await forgetApplied(tools, sha, `lacks ${gone.join(', ')}, and only an apply logs in to ${registries.join(', ')}`);
}

/** Registries for which the release's manifest has a login; none where it cannot be read any more. */
async function loginsOf({ releases, settings }: Tools, sha: string): Promise<Set<string>> {
  const text = await manifestText(releases.pathOf(sha)).catch((error: unknown) => {
    if (error instanceof Fault) return '';
    throw error;
  });
  const parsed = parseManifest(text, settings.env);
  return new Set('manifest' in parsed ? parsed.manifest.registries.map(({ host }) => hostOf(`${host}/`)) : []);
}

function untouched({ ailing }: Host, { pause, reason }: Orders): Outcome {
  if (pause !== null) return { ...plain('paused'), lines: [pause.line] };
  return { ...plain('unhealthy'), code: 'UNHEALTHY', lines: [`unhealthy: ${ailing.join(', ')}`], reason };
}
