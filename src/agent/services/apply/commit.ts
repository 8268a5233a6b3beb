import { Fault } from '../../../../machines/fault.ts';
import { plain } from '../../../../machines/outcomes.ts';
import type { Bundle, Orders } from '../../../../machines/words.ts';
import type { Made } from '../../rules/release/jobs.ts';
import { finishedHere } from '../release/jobs.ts';
import { containersNow } from '../release/release.ts';
import { remembered } from '../checkIn/remember.ts';
import type { Tools } from '../tools.ts';
import { isPlain } from './plain.ts';

/**
 * Records the release as applied, its report beside it; a crash from here on loses neither. What it runs is noted before,
 * and what was kept as a way back to itself goes: a crash in between leaves an attempt whose release is well.
 */
export async function commit(tools: Tools, { bundle, orders }: { bundle: Bundle; orders: Orders }): Promise<void> {
  const { releases, state, tick } = tools;
  const { version, sequence } = bundle.manifest;
  const production = bundle.manifest.production || orders.production;
  const before = state.state.applied_sha;
  const facts = { sha: bundle.sha, production };
  await warning(tools, `a way back to ${bundle.sha} may miss its images`, () => completeRecord(tools, facts));
  await releases.dropLastGood(bundle.sha);
  await state.update({
    applied_sha: bundle.sha,
    applied_at: new Date().toISOString(),
    applied_version: version,
    highest_sequence: Math.max(sequence, state.state.highest_sequence),
    production,
    production_unknown: false,
    attempt: null,
    baseline: null,
    failing: null,
    ...remembered(tools, { outcome: plain('applied'), orders, appliedSha: bundle.sha }),
  });
  if (before !== null && before !== bundle.sha)
    await warning(tools, `${before} is not as it was applied`, () => releases.restoreLastGood(before));
  tick.journal.info(`applied: version=${version} sha=${bundle.sha} reason=${orders.reason}`);
}

async function warning({ tick }: Tools, what: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tick.journal.warn(`${what}: ${error.message}`);
  });
}

/**
 * A reference may stand for another image tomorrow; a way back to this release needs the one that runs now, of a job that has
 * finished none. And where the state is lost, the release must tell what check-in and configuration said of the env.
 */
async function completeRecord(tools: Tools, { sha, production }: { sha: string; production: boolean }): Promise<void> {
  const { releases } = tools;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const running = new Map((await containersNow(tools)).map(({ image, imageId }) => [image, imageId]));
  const jobs = await finishedHere(tools, record);
  const { services } = tools.tick.made ?? { services: new Map<string, Made>() };
  const left = jobs.flatMap(({ service }) => services.get(service)?.image ?? []).filter((each) => !running.has(each));
  const images = [
    ...[...running].map(([name, id]) => ({ reference: isPlain(tools, name) ? name : id, id })),
    ...left.filter((name) => isPlain(tools, name)).map((reference) => ({ reference, id: null })),
  ];
  await releases.writeRecord(sha, { ...record, production, images, jobs });
}
