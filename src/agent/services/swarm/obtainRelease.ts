import type { DesiredState, Sha } from '../../../../machines/types.ts';
import { isSameRecord, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import * as steps from '../apply/index.ts';
import type { Dependencies } from '../dependencies.ts';
import type { SwarmDependencies } from './stackFacts.ts';

/**
 * Renders a release on this host as an apply would, unless it is there as it was applied: the agent of another node may have
 * applied it. Values of secrets are the newest, images those that its record names.
 */
export async function obtainRelease({ deps, state }: SwarmDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const applied = state.record?.sha === sha ? state.record : null;
  if (await isHere(deps, sha, applied)) return;
  deps.tick.journal.info(`release ${sha} was applied by another manager; its bundle and secrets are fetched`);
  const own = { ...deps, tick: { ...deps.tick } };
  await render(own, sha, signal);
  await deps.releases.dropBackup(sha);
  const rendered = await deps.releases.readRecord(sha);
  if (applied === null || rendered === null) return;
  const { images, jobs = [], production } = applied;
  await deps.releases.writeRecord(sha, { ...rendered, images, jobs, production });
}

async function isHere({ releases }: Dependencies, sha: Sha, applied: ReleaseRecord | null): Promise<boolean> {
  if (!(await releases.isComplete(sha))) return false;
  return applied === null || isSameRecord(await releases.readRecord(sha), applied);
}

/** The steps of an apply until the release is on the disk; nothing that runs is changed. */
async function render(deps: Dependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const desired = desiredAgain(deps, sha);
  await steps.download(deps, { desired }, signal);
  await steps.verifySignatures(deps, { desired }, signal);
  const bundle = await steps.unpack(deps, { desired }, signal);
  await steps.validateBundle(deps, { bundle, desired }, signal);
  await steps.readSecrets(deps, { bundle }, signal);
  await steps.validateRenderedModel(deps, { bundle }, signal);
  await steps.verifyImages(deps, { bundle }, signal);
  await steps.renderRelease(deps, { bundle }, signal);
}

function desiredAgain({ settings, state }: Dependencies, sha: Sha): DesiredState {
  return {
    action: 'apply',
    desiredSha: sha,
    appliedSha: state.state.applied_sha,
    sizeBytes: settings.limits.bundle_bytes,
    production: state.state.production,
    purgeVolumes: false,
    reason: '',
    retryDelay: null,
    emergency: false,
    deferral: null,
  };
}
