import { Fault } from '../../../../machines/fault.ts';
import type { Orders } from '../../../../machines/words.ts';
import { ignoredPurge, mayRemoveVolumes } from '../../rules/release/volumes.ts';
import { forgetJobs } from '../release/jobs.ts';
import { blameEngine } from '../release/release.ts';
import type { Tools } from '../tools.ts';

/**
 * compose down with the volume rule (spec §7); nothing there is fine. What does not stop in time is removed by the engine:
 * no container can keep a host from being retired.
 */
export async function composeDown(tools: Tools, { orders }: { orders: Orders }, signal: AbortSignal): Promise<void> {
  const { compose, containers, settings, state, tick } = tools;
  const { isProduction } = await import('../release/production.ts');
  const facts = {
    production: await isProduction(tools, state.state, orders.production),
    purgeRequested: orders.purgeVolumes,
    onAbsent: settings.volumes_on_absent,
  };
  const asked = facts.purgeRequested || facts.onAbsent === 'purge';
  const present = asked && facts.production === null ? (await containers.owned()).volumes : [];
  const ignored = ignoredPurge(facts, present);
  if (ignored !== null) {
    tick.journal.warn(ignored);
    tick.remarks.push(ignored);
  }
  const volumes = mayRemoveVolumes(facts);
  const down = () => compose.down(volumes, signal);
  await down()
    .catch(async (error: unknown) => {
      if (!(error instanceof Fault && error.isLate)) throw error;
      await removeUnstopped(tools, volumes);
      await down();
    })
    .catch((error: unknown) => blameEngine(tools, error));
  await (await import('../release/purge.ts')).noteRemaining(tools, volumes);
}

async function removeUnstopped({ containers, settings, tick }: Tools, volumes: boolean): Promise<void> {
  const left = await containers.listAll();
  for (const { id } of left) await containers.removeContainer(id, { volumes });
  const names = left.map(({ name }) => name).join(', ');
  tick.journal.warn(`down: not stopped within ${settings.down_timeout_s}s, so removed by force: ${names}`);
}

/** Clears applied_sha, removes `current` and every `.env`; releases/ stays, and every job is to run again. */
export async function clearApplied(tools: Tools): Promise<void> {
  const { releases, state, tick } = tools;
  for (const sha of await releases.list()) {
    await releases.stripEnv(sha);
    await forgetJobs(tools, sha);
  }
  await releases.current.remove();
  await state.update({ applied_sha: null, applied_at: null, applied_version: null, attempt: null, failing: null });
  tick.journal.info('down: the project is torn down; releases/ stays, without secrets');
}
