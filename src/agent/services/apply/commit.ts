import { Fault } from '../../../../machines/fault.ts';
import { plainOutcome } from '../../../../machines/outcomes.ts';
import type { Bundle, DesiredState } from '../../../../machines/types.ts';
import type { State, Trial } from '../../rules/state/state.ts';
import type { ServiceFingerprint } from '../../rules/release/oneShots.ts';
import { outcomePatch } from '../checkIn/outcomePatch.ts';
import type { Dependencies } from '../dependencies.ts';
import { isSecretFree } from './secretFree.ts';

/**
 * Records the release as applied, with its report in the same write. Before that, the release record is completed and the
 * backup of the release dropped: a crash in between leaves an attempt whose release is healthy.
 */
export async function commit(
  deps: Dependencies,
  { bundle, desired }: { bundle: Bundle; desired: DesiredState },
): Promise<void> {
  const { releases, state, tick } = deps;
  const { version, sequence } = bundle.manifest;
  const production = bundle.manifest.production || desired.production;
  const previous = state.state.applied_sha;
  const facts = { sha: bundle.sha, production };
  await warnOnFault(deps, `a way back to ${bundle.sha} may miss its images`, () => completeRecord(deps, facts));
  await releases.dropBackup(bundle.sha);
  await state.update({
    applied_sha: bundle.sha,
    applied_at: new Date().toISOString(),
    applied_version: version,
    applied_signers: tick.signers,
    applied_images: tick.images,
    highest_sequence: Math.max(sequence, state.state.highest_sequence),
    production,
    production_unknown: false,
    attempt: null,
    baseline: null,
    unreverted: null,
    failing: null,
    healing: {},
    lost_volumes: [],
    trial: trialOf(state.state, bundle.sha),
    ...outcomePatch(deps, { outcome: plainOutcome('applied'), desired, appliedSha: bundle.sha }),
  });
  if (previous !== null && previous !== bundle.sha)
    await warnOnFault(deps, `${previous} is not as it was applied`, () => releases.restoreBackup(previous));
  await warnOnFault(deps, 'what only earlier releases used is left', () => deps.orchestrator.removeUnused());
  tick.journal.info(`applied: version=${version} sha=${bundle.sha} reason=${desired.reason}`);
}

/** Applied again, a release keeps its way back. */
function trialOf({ applied_sha, failing, trial }: Readonly<State>, sha: string): Trial {
  const previous = applied_sha === sha ? (trial?.sha === sha ? trial.previous : null) : applied_sha;
  return { sha, previous, failing: failing?.sha === sha ? failing : null };
}

async function warnOnFault({ tick }: Dependencies, warning: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tick.journal.warn(`${warning}: ${error.message}`);
  });
}

/**
 * Adds to the release record what a later revert needs: ids and digests of the running images, since a reference may name
 * another image by then, and the finished one-shots; and, for a lost state.json, whether the env is production.
 */
async function completeRecord(
  deps: Dependencies,
  { sha, production }: { sha: string; production: boolean },
): Promise<void> {
  const { orchestrator, releases } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const running = await orchestrator.runningImages();
  const jobs = await orchestrator.finishedOneShots(record);
  const { services } = deps.tick.serviceDefinitions ?? { services: new Map<string, ServiceFingerprint>() };
  const oneShotImages = jobs
    .flatMap(({ service }) => services.get(service)?.image ?? [])
    .filter((image) => running.every(({ reference }) => reference !== image));
  const images = [
    ...running.map((image) => ({
      ...image,
      reference: isSecretFree(deps, image.reference) ? image.reference : image.id,
    })),
    ...oneShotImages.filter((name) => isSecretFree(deps, name)).map((reference) => ({ reference, id: null })),
  ];
  await releases.writeRecord(sha, { ...record, production, images, jobs });
}
