import { randomUUID } from 'node:crypto';
import { endings } from '../../machines/endings.ts';
import type {
  AvailableCredentials,
  DesiredState,
  ObservedState,
  Outcome,
  ReportedContainer,
  RunOptions,
  Sha,
} from '../../machines/types.ts';
import { standingHold } from './checkIn/hold.rules.ts';
import { readHold } from './checkIn/hold.ts';
import { lastOutcomeOf, outcomePatch, type ReportDependencies, reportOf, type ReportTick } from './checkIn/reports.ts';
import { reportedContainerOf } from './health/health.rules.ts';
import { composeUpNow, type HealthTick } from './health/observeHost.ts';
import type { Journal } from './journal/journal.ts';
import { markNotApplied } from './release/down.ts';
import { cleanUp, type GarbageDependencies } from './release/garbage.ts';
import type { Releases } from './release/releases.ts';
import { productionOf } from './release/volumes.rules.ts';
import { type Lock, acquireLock as lockStateDir } from './state/lock.ts';
import type { State } from './state/state.rules.ts';
import type { CheckInTick } from './checkIn/checkIn.ts';
import type { ApplyTick } from './apply/unpack.ts';
import type { ComposeTick } from './compose/observe.ts';
import type { Settings } from './config/settings.ts';
import type { StateStore } from './state/stateFile.ts';
import type { Vault } from './secrets/vault.ts';
import type { Credentials } from './token/credentials.ts';
import type { Compose } from './engine/compose.ts';
import { offlineAlarmLine, offlineSince } from './checkIn/checkInAge.rules.ts';

/** What beginning and ending a tick take. */
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

/** Facts of one running tick that its services share. */
export interface TickScope extends ReportTick, CheckInTick, ApplyTick, HealthTick, ComposeTick {
  lock: Lock | null;
}

/** A new scope with a new tick id. */
export function startTick(journal: Journal): TickScope {
  const id = randomUUID();
  return {
    id,
    startedAt: new Date(),
    journal: journal.forTick(id),
    durationsMs: {},
    lock: null,
    hold: undefined,
    engineAnswered: false,
    engineFault: null,
    healthyContainers: null,
    containers: null,
    grantRefusal: null,
    candidateStatus: null,
    grantedPrivileges: null,
    serviceDefinitions: null,
    writtenServices: null,
    pulledTags: new Map(),
    releaseWait: null,
    serviceEdges: null,
    lastComposeUp: composeUpNow([]),
    heartbeat: null,
    wasOverdue: false,
    remarks: [],
    signatures: null,
    signers: [],
    images: [],
    bundleContents: null,
    composeProject: null,
    isAppliedContent: false,
    readProgress: null,
  };
}

/** Starts a tick with a new id and locks the state directory (spec §13). Throws Fault `busy`. */
export async function acquireLock(deps: TickDependencies): Promise<void> {
  deps.tick = startTick(deps.journal);
  deps.tick.lock = await lockStateDir(deps.settings.state_dir);
}

/** Reads state.json, removes leftovers of a killed tick and finds the credentials; the token goes into the vault. */
export async function loadState(deps: TickDependencies): Promise<AvailableCredentials> {
  const { compose, credentials, orchestrator, releases, settings, state, stop, tick, vault } = deps;
  const { last_check_in, applied_sha } = await state.load();
  tick.hold = standingHold(await readHold(settings.state_dir), new Date());
  const isHere = applied_sha === null || (await ensureComplete(releases, applied_sha));
  if (!isHere && !orchestrator.isShared) await markNotApplied(deps, applied_sha, 'is not whole on the disk');
  if (isHere || !orchestrator.isShared) await repairCurrent(deps);
  if (await compose.terminateOrphans()) tick.journal.warn('a compose of a killed tick was still at work; it was ended');
  for (const path of await releases.removeLeftovers(last_check_in?.desired_sha ?? null, stop.signal))
    tick.journal.warn(`cannot remove ${path}; a container wrote there: remove it as root`);
  for (const line of await credentials.warnings()) tick.journal.warn(line);
  const token = await credentials.readToken().catch((error: unknown) => {
    vault.noteUntrackedSecrets();
    throw error;
  });
  if (token !== null) vault.setToken(token);
  const hasGrant = await credentials.hasGrant();
  if (!hasGrant) await clearGrantRefusal(deps);
  return { hasToken: token !== null, hasGrant, grantFile: settings.bootstrap_file };
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
  return {
    applied_sha: record ? sha : null,
    attempt: record ? { sha: record.sha, phase: 'unknown', at: new Date().toISOString() } : null,
    applied_version: record?.version ?? null,
    applied_signers: record?.signers ?? [],
    applied_images: record?.verified_images ?? [],
    highest_sequence: Math.max(0, ...all.map((each) => each?.sequence ?? 0)),
    production: production === true,
    production_unknown: production === null,
  };
}

interface TickResult extends Pick<RunOptions, 'intent'> {
  outcome: Outcome;
  desired: DesiredState | null;
  observed: ObservedState | null;
}

/**
 * Records the outcome of the tick: `last_outcome` and, after a check-in, the report in the queue, in one durable write, so
 * that it survives outages and restarts; then cleans up the disk. A tick that decided nothing keeps the last outcome; one
 * that could not read the state changes nothing. Tells whether the host has been offline for too long.
 */
export async function recordOutcome(deps: TickDependencies, result: TickResult): Promise<{ offlineAlarm: boolean }> {
  if (deps.state.isUnknown) return { offlineAlarm: false };
  const offlineAlarm = isOffline(result) && (await recordOffline(deps, result.outcome));
  if (!offlineAlarm) await updateState(deps, result);
  await cleanUp(deps, result.outcome.ending, result.desired);
  return { offlineAlarm };
}

/** True for a tick that has not reached the tenancy service. */
function isOffline({ intent, outcome, desired }: TickResult): boolean {
  return intent === 'tick' && desired === null && ['offline', 'offlineLaptop'].includes(outcome.ending);
}

/** Records since when the host has been offline; once that is too long, that is logged and becomes the last outcome (spec §8.1). */
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

async function updateState(deps: TickDependencies, { outcome, desired, observed }: TickResult): Promise<void> {
  const { state, tick } = deps;
  const { exit, report } = endings[outcome.ending].meta;
  if (exit === 75 || outcome.ending === 'offlineLaptop' || outcome.ending === 'paused') return;
  if (desired === null || report === null) return state.update({ last_outcome: lastOutcomeOf(deps, outcome) });
  const containers = await reportedContainers(deps, desired, observed);
  tick.containers = containers;
  const input = { outcome, desired, containers };
  if (report !== 'heartbeat') return state.update(outcomePatch(deps, input));
  tick.heartbeat = reportOf(deps, input);
  const failing = outcome.ending === 'converged' ? remainingFailure(state.state) : state.state.failing;
  await state.update({ last_outcome: lastOutcomeOf(deps, outcome), failing });
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
  if (deps.tick.healthyContainers !== null) return deps.tick.healthyContainers.map(reportedContainerOf);
  return deps.orchestrator.observe(null).then(
    ({ containers }) => containers,
    () => [],
  );
}

/** Releases the lock after every compose process of the tick has ended; the last step of a tick, which ignores STOP. */
export async function releaseLock({ compose, tick }: TickDependencies): Promise<void> {
  await compose.forget();
  await tick.lock?.release();
}
