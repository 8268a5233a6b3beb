import { uptime } from 'node:os';
import { Fault } from '../../../../machines/fault.ts';
import { plainOutcome } from '../../../../machines/outcomes.ts';
import type { DesiredState, ObservedState, Outcome } from '../../../../machines/types.ts';
import { lateFailures } from '../../rules/health/lateFailure.ts';
import type { WatchedContainer } from '../../rules/health/unhealthyServices.ts';
import { expectedServices, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { nothingApplied, type State } from '../../rules/state/state.ts';
import { revertTo } from '../apply/revertRelease.ts';
import { unhealthyFault } from './unhealthyFault.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Reverts a release of which a service without a restart policy ended with an error soon after the apply, as a failed
 * apply is reverted: outcome `failed`, and a growing pause before the bundle is tried again. Null when there is none.
 */
export async function revertLateFailure(
  deps: Dependencies,
  { observed, desired }: { observed: ObservedState; desired: DesiredState },
  signal: AbortSignal,
): Promise<Outcome | null> {
  const { orchestrator, releases, state } = deps;
  const { applied_sha, attempt, trial } = state.state;
  if (applied_sha === null || attempt !== null || trial?.sha !== applied_sha || orchestrator.isShared) return null;
  const record = await releases.readRecord(applied_sha);
  const fault = record && (await lateFault(deps, record, observed));
  if (!fault) return null;
  const outcome = {
    ...plainOutcome('failed'),
    code: fault.code,
    lines: fault.lines,
    tail: fault.tail,
    reason: desired.reason,
  };
  const previous = await previousRelease(deps, trial.previous);
  const patch = { ...appliedFacts(previous), trial: null };
  const wayBack = { before: trial.failing, previous: previous?.sha ?? null, patch };
  const result = await revertTo(deps, { sha: applied_sha, desired, outcome, ...wayBack }, signal);
  return { ...outcome, ...result };
}

/** The fault of the services that failed late; null when none did. */
async function lateFault(
  deps: Dependencies,
  record: ReleaseRecord,
  { unhealthyServices }: ObservedState,
): Promise<Fault | null> {
  const { containers, settings, state } = deps;
  const services = expectedServices(record);
  const suspects = services.filter(({ name, kind }) => kind === 'once' && unhealthyServices.includes(name));
  const appliedMs = Date.parse(state.state.applied_at ?? '');
  if (suspects.length === 0 || Number.isNaN(appliedMs)) return null;
  const times = {
    appliedMs,
    windowMs: settings.health_timeout_s * 1000,
    bootMs: Date.now() - uptime() * 1000,
  };
  const failed = lateFailures(await containers.list(), { ...record, services: suspects }, times);
  if (failed.length === 0) return null;
  const names = new Set(failed.map(({ service }) => service));
  const watched = failed.map((container): WatchedContainer => ({ container, healthStatus: 'failed', lastExit: null }));
  const waitedMs = Math.max(0, ...failed.map(({ finishedMs = appliedMs }) => finishedMs - appliedMs));
  return unhealthyFault(deps, watched, { expected: services.filter(({ name }) => names.has(name)), waitedMs });
}

/** The record of the previous release, if that is still on the disk. */
async function previousRelease({ releases }: Dependencies, sha: string | null): Promise<ReleaseRecord | null> {
  return sha !== null && (await releases.exists(sha)) ? releases.readRecord(sha) : null;
}

/** What the state tells of the release that is applied from now on; null for none. */
function appliedFacts(record: ReleaseRecord | null): Partial<State> {
  if (record === null) return nothingApplied;
  return {
    applied_sha: record.sha,
    applied_at: new Date().toISOString(),
    applied_version: record.version,
    applied_signers: record.signers ?? [],
    applied_images: record.verified_images ?? [],
  };
}
