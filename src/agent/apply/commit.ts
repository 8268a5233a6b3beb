import { Fault, plainOutcome } from '../../../machines/fault.ts';
import { outcomePatch } from '../checkIn/reports.ts';
import { cancelPurge } from '../release/down.ts';
import { ensureRevertible, type RepairDependencies } from '../release/integrity.ts';
import type { RunningTick } from '../journal/journal.ts';
import type { ServiceFingerprints } from '../release/services.rules.ts';
import type { State, Trial } from '../state/state.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Tenancy } from '../transport/tenancy.ts';
import type { Carried, Orchestrator } from '../release/orchestrator.ts';
import { policyDigest } from './policyHost.ts';

/** Dependencies of promoting a release and recording it as applied. */
export interface CommitDependencies extends RepairDependencies {
  readonly version: string;
  readonly vault: Vault;
  readonly state: StateStore;
  readonly tenancy: Tenancy;
  readonly orchestrator: Orchestrator;
  readonly tick: RunningTick;
}

/**
 * Records the release as applied, with its report in the same write. Before that, the release record is completed and the
 * backup of the release dropped: a crash in between leaves an attempt whose release is healthy.
 */
export async function commit(
  deps: CommitDependencies,
  { bundle, desired, images, release, signatures, signers }: Carried<CommitInput>,
): Promise<void> {
  const { releases, state, tick } = deps;
  const { version, sequence } = bundle.manifest;
  const production = bundle.manifest.production || desired.production;
  const previous = state.state.applied_sha;
  const facts = { sha: bundle.sha, production, services: release.services };
  await warnOnFault(deps, `a way back to ${bundle.sha} may miss its images`, () => completeRecord(deps, facts));
  await releases.dropBackup(bundle.sha);
  await state.update({
    applied_sha: bundle.sha,
    applied_at: new Date().toISOString(),
    applied_version: version,
    applied_signers: signers,
    applied_root: signatures?.trustRoot ?? null,
    applied_images: images.verified,
    judged: { digest: policyDigest(deps.settings, bundle.sha), violations: [] },
    ...(sequence >= state.state.highest_sequence && { highest_sequence: sequence, highest_sha: bundle.sha }),
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

type CommitInput = 'bundle' | 'desired' | 'images' | 'release' | 'signatures' | 'signers';

/** A release that is applied again keeps its previous release for a revert. */
function trialOf({ applied_sha, failing, trial }: Readonly<State>, sha: string): Trial {
  const previous = applied_sha === sha ? (trial?.sha === sha ? trial.previous : null) : applied_sha;
  return { sha, previous, failing: failing?.sha === sha ? failing : null };
}

async function warnOnFault({ tick }: CommitDependencies, warning: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tick.journal.warn(`${warning}: ${error.message}`);
  });
}

/**
 * Adds to the release record the facts that a later revert needs: ids and digests of the running images, since a
 * reference may name another image by then, and the finished one-shots. It also records whether the environment is
 * production, in case state.json is lost.
 */
async function completeRecord(
  deps: CommitDependencies,
  { sha, production, services }: { sha: string; production: boolean; services: ServiceFingerprints },
): Promise<void> {
  const { orchestrator, releases, vault } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const running = await orchestrator.runningImages();
  const jobs = await orchestrator.finishedOneShots(record, services);
  const oneShotImages = jobs
    .flatMap(({ service }) => services.get(service) ?? [])
    .map(({ image }) => vault.reveal(image))
    .filter((image) => running.every(({ reference }) => reference !== image));
  const images = [
    ...running.map((image) => ({
      ...image,
      reference: vault.isSecretFree(image.reference) ? image.reference : image.id,
    })),
    ...oneShotImages.filter((name) => vault.isSecretFree(name)).map((reference) => ({ reference, id: null })),
  ];
  await releases.writeRecord(sha, { ...record, production, images, jobs });
}

/**
 * Repairs the applied release for a possible revert, records the attempt durably, then points `current` to the new
 * release. The phase of an interrupted attempt is kept, because it shows whether containers were changed.
 */
export async function promote(
  deps: CommitDependencies,
  { bundle }: Carried<'bundle'>,
  signal: AbortSignal,
): Promise<void> {
  const { releases, state } = deps;
  const { applied_sha } = state.state;
  if (applied_sha !== null && applied_sha !== bundle.sha) await ensureRevertible(deps, applied_sha, signal);
  await cancelPurge(deps, 'a bundle is applied');
  const phase = state.state.attempt?.phase ?? 'promoted';
  const production = state.state.production || bundle.manifest.production;
  const production_unknown = await isProductionStillUnknown(deps);
  await state.update({
    production,
    production_unknown,
    attempt: { sha: bundle.sha, phase, at: new Date().toISOString() },
  });
  await releases.current.set(bundle.sha);
}

/** False once the project has no volumes: the production flag is known when future volumes are created. */
async function isProductionStillUnknown({ orchestrator, state }: CommitDependencies): Promise<boolean> {
  return state.state.production_unknown === true && (await orchestrator.volumes()).length > 0;
}
