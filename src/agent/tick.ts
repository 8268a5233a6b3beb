import { randomUUID } from 'node:crypto';
import { endings } from '../../machines/endings.ts';
import type { ApplyStart } from '../../machines/services.ts';
import type {
  DesiredState,
  FoundOnDisk,
  ObservedState,
  Outcome,
  RecordedTick,
  ReportedContainer,
  RunOptions,
  Sha,
} from '../../machines/types.ts';
import { standingHold } from './checkIn/hold.rules.ts';
import { readHold } from './checkIn/hold.ts';
import { lastOutcomeOf, outcomePatch, type ReportDependencies, reportOf } from './checkIn/reports.ts';
import { type Journal, openTickJournal, type RunningTick } from './journal/journal.ts';
import { markNotApplied } from './release/down.ts';
import { cleanUp, freeSpace, type GarbageDependencies } from './release/garbage.ts';
import type { Releases } from './release/releases.ts';
import { productionOf } from './release/volumes.rules.ts';
import { type Lock, acquireLock as lockStateDir } from './state/lock.ts';
import type { State } from './state/state.rules.ts';
import type { Settings } from './config/configKeys.ts';
import type { StateStore } from './state/stateFile.ts';
import type { Vault } from './secrets/vault.ts';
import type { Credentials } from './token/credentials.ts';
import type { Compose } from './engine/compose.ts';
import { expiryWarning } from '../core/untrusted.rules.ts';
import { identityLifeOf } from './transport/transport.ts';
import { offlineAlarmLine, offlineSince } from './checkIn/checkInAge.rules.ts';

/** Dependencies of starting and ending a tick. */
export interface TickDependencies extends GarbageDependencies, ReportDependencies {
  readonly settings: Settings;
  readonly releases: Releases;
  readonly state: StateStore;
  readonly vault: Vault;
  readonly credentials: Credentials;
  readonly compose: Compose;
  /** The journal of the process, without a tick id. */
  readonly journal: Journal;
  /** Scope of the running tick; `acquireLock` replaces it. */
  tick: TickScope;
}

/** A running tick, without the results of its services. */
export interface TickScope extends RunningTick {
  lock: Lock | null;
}

/** A new scope with a new tick id. */
export function startTick(journal: Journal): TickScope {
  const id = randomUUID();
  const clock = { startedAt: new Date(), durationsMs: {} };
  return { id, clock, journal: openTickJournal(journal, id), lock: null };
}

/** Starts a tick with a new id and locks the state directory (spec §13). Throws Fault `busy`. */
export async function acquireLock(deps: TickDependencies): Promise<void> {
  deps.tick = startTick(deps.journal);
  deps.tick.lock = await lockStateDir(deps.settings.state_dir);
}

/** Reads state.json, removes leftovers of a killed tick and finds the credentials; the token goes into the vault. */
export async function loadState(deps: TickDependencies): Promise<FoundOnDisk> {
  const { compose, credentials, orchestrator, releases, settings, state, stop, tick, vault } = deps;
  const { last_check_in, applied_sha, last_outcome } = await state.load();
  const hold = standingHold(await readHold(settings.state_dir), new Date());
  const isHere = applied_sha === null || (await ensureComplete(releases, applied_sha));
  if (!isHere && !orchestrator.isShared) await markNotApplied(deps, applied_sha, 'is not whole on the disk');
  if (isHere || !orchestrator.isShared) await repairCurrent(deps);
  if (await compose.terminateOrphans()) tick.journal.warn('a compose of a killed tick was still at work; it was ended');
  for (const path of await releases.removeLeftovers(last_check_in?.desired_sha ?? null, stop.signal))
    tick.journal.warn(`cannot remove ${path}; a container wrote there: remove it as root`);
  for (const line of await credentials.warnings()) tick.journal.warn(line);
  await warnOfIdentity(deps, last_outcome?.at ?? null);
  const token = await credentials.readToken().catch((error: unknown) => {
    vault.noteUntrackedSecrets();
    throw error;
  });
  if (token !== null) vault.setToken(token);
  const hasGrant = await credentials.hasGrant();
  if (!hasGrant) await clearGrantRefusal(deps);
  return { hasToken: token !== null, hasGrant, grantFile: settings.bootstrap_file, hold };
}

/** The first tick of a day (UTC) warns of a mesh identity whose certificate is about to end (spec §15). */
async function warnOfIdentity({ settings, tick }: TickDependencies, lastTick: string | null): Promise<void> {
  const now = new Date();
  if (settings.transport === 'system' || lastTick?.slice(0, 10) === now.toISOString().slice(0, 10)) return;
  const life = await identityLifeOf(settings);
  const warning = life && expiryWarning(life, now);
  if (warning !== null)
    tick.journal.warn(`the certificate of the mesh identity ${settings.mesh.identity_file} ${warning}`);
}

/** Once the grant file is gone, its refusal is no longer reported. */
async function clearGrantRefusal({ state }: TickDependencies): Promise<void> {
  const { grant_refused, ...token } = state.state.token;
  if (grant_refused !== undefined) await state.update({ token });
}

/** Restores the backup of a release when a crash interrupted its rendering. False when files are still missing. */
async function ensureComplete(releases: Releases, sha: Sha): Promise<boolean> {
  if (await releases.isComplete(sha)) return true;
  await releases.restoreBackup(sha);
  return releases.isComplete(sha);
}

/** Points `current` to the applied release, unless an attempt is recorded; a foreign file or link in its place is set aside. */
async function repairCurrent({ releases, state, tick }: TickDependencies): Promise<void> {
  const { applied_sha, attempt } = state.state;
  const { sha, isForeign } = await releases.current.inspect();
  if (isForeign)
    tick.journal.warn(
      `CURRENT_FOREIGN: current was not a link to one of the agent's releases; kept as ${await releases.current.setAside()}`,
    );
  if (applied_sha === null || attempt !== null || sha === applied_sha) return;
  await releases.current.set(applied_sha);
  tick.journal.warn('current was lost; it points to the applied release again');
}

/**
 * State of a host whose state.json was lost, from `current` and the release records (spec §17). The attempt of phase `unknown`
 * makes the next tick verify the release.
 */
export async function rebuildState(releases: Releases): Promise<Partial<State>> {
  const { sha } = await releases.current.inspect();
  const record = sha === null ? null : await releases.readRecord(sha);
  const { productionOfReleases } = await import('./release/down.ts');
  const production = productionOf(await productionOfReleases(releases));
  const all = await Promise.all((await releases.list()).map((each) => releases.readRecord(each)));
  const newest = all.flatMap((each) => each ?? []).toSorted((one, other) => other.sequence - one.sequence)[0];
  return {
    applied_sha: record ? sha : null,
    attempt: record ? { sha: record.sha, phase: 'unknown', at: new Date().toISOString() } : null,
    applied_version: record?.version ?? null,
    applied_signers: record?.signers ?? [],
    applied_root: record?.trust_root ?? null,
    applied_images: record?.verified_images ?? [],
    highest_sequence: newest?.sequence ?? 0,
    highest_sha: newest?.sha ?? null,
    production: production === true,
    production_unknown: production === null,
  };
}

interface EndedTick extends Pick<RunOptions, 'intent'>, Pick<ApplyStart, 'hold'> {
  outcome: Outcome;
  desired: DesiredState | null;
  observed: ObservedState | null;
}

/**
 * Records the outcome of the tick: `last_outcome` and, after a check-in, the report in the queue, in one durable write,
 * so that it survives outages and restarts; then cleans up the disk. A tick that decided nothing keeps the last
 * outcome; one that could not read the state changes nothing. Returns whether the host has been offline for too long.
 */
export async function recordOutcome(deps: TickDependencies, result: EndedTick): Promise<RecordedTick> {
  const nothing = { offlineAlarm: false, heartbeat: null, containers: null };
  if (deps.state.isUnknown) return nothing;
  if (result.outcome.code === 'DISK_INSUFFICIENT' && result.hold === null)
    await freeSpace(deps, result.desired?.desiredSha ?? null);
  const offlineAlarm = isOffline(result) && (await recordOffline(deps, result.outcome));
  const recorded = offlineAlarm ? null : await updateState(deps, result);
  await cleanUp(deps, result.outcome.ending, result);
  return { ...nothing, offlineAlarm, ...recorded };
}

/** True for a tick that has not reached the tenancy service. */
function isOffline({ intent, outcome, desired }: EndedTick): boolean {
  return intent === 'tick' && desired === null && ['offline', 'offlineLaptop'].includes(outcome.ending);
}

/**
 * Records the start of the offline period; once it is too long, it is logged and becomes the last outcome (spec §8.1).
 */
async function recordOffline(deps: TickDependencies, outcome: Outcome): Promise<boolean> {
  const { settings, state, tick } = deps;
  const now = new Date();
  const offline_since = offlineSince(state.state, now);
  const line = offlineAlarmLine(offline_since, settings.offline_alarm_s, now);
  if (line !== null) tick.journal.error(line);
  const alarm =
    line !== null && lastOutcomeOf(deps, { ...outcome, ending: 'offlineAlarm', lines: [line, ...outcome.lines] });
  await state.update({ offline_since, ...(alarm && { last_outcome: alarm }) });
  return line !== null;
}

/** Null if the tick has no report. */
async function updateState(
  deps: TickDependencies,
  { outcome, desired, observed }: EndedTick,
): Promise<Omit<RecordedTick, 'offlineAlarm'> | null> {
  const { state } = deps;
  const { exit, report } = endings[outcome.ending].meta;
  if (exit === 75 || outcome.ending === 'offlineLaptop' || outcome.ending === 'paused') return null;
  if (desired === null || report === null) {
    await state.update({ last_outcome: lastOutcomeOf(deps, outcome) });
    return null;
  }
  const containers = await reportedContainers(deps, desired, observed);
  const input = { outcome, desired, containers };
  if (report !== 'heartbeat') {
    await state.update(outcomePatch(deps, input));
    return { heartbeat: null, containers };
  }
  const heartbeat = reportOf(deps, input);
  const failing = outcome.ending === 'converged' ? remainingFailure(state.state) : state.state.failing;
  await state.update({ last_outcome: lastOutcomeOf(deps, outcome), failing });
  return { heartbeat, containers };
}

/** A tick that finds the applied release healthy clears the failure to apply that release again. */
function remainingFailure({ applied_sha, failing }: Readonly<State>): State['failing'] {
  return failing?.sha === applied_sha ? null : failing;
}

/** Containers for the report; those observed at the start of the tick are still current when the tick changed none. */
async function reportedContainers(
  deps: TickDependencies,
  { action }: DesiredState,
  observed: ObservedState | null,
): Promise<ReportedContainer[]> {
  if (action === 'none' && observed?.healthy) return observed.containers;
  return deps.orchestrator.containers().catch(() => []);
}

/** Releases the lock after every compose process of the tick has ended; the last step of a tick, which ignores STOP. */
export async function releaseLock({ compose, tick }: TickDependencies): Promise<void> {
  await compose.forget();
  await tick.lock?.release();
}
