import { ConfigInvalid } from '../../core/config/keyTable.ts';
import {
  type Check,
  type Diagnosis,
  diagnosisJson,
  diagnosisOf,
  formatDiagnosis,
  type Fact,
} from '../../core/doctor.rules.ts';
import { loadSettings, settingsDespite } from '../config/loadSettings.ts';
import { scopeOf, withCommandsOf, withPodmanCommands, type AgentScope } from '../config/namedEnvs.ts';
import type { Output } from '../journal/terminal.ts';
import type { Vault } from '../secrets/vault.ts';
import { examineEngine, examineOrchestrator, examineServices, examineUnusedVolumes } from './engine.ts';
import {
  checkFiles,
  type DoctorContext,
  doctorContextOf,
  type DoctorInput,
  examineConfig,
  examineIdentity,
  examinePolicy,
  examineTrust,
} from './host.ts';
import { checkNetwork } from './network.ts';
import { examineUpgrade, writtenIn } from './upgrade.ts';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../machines/fault.ts';
import { runHostProgram } from '../../core/accounts.ts';
import { bootTimeNow } from '../../core/clock.ts';
import { isThere } from '../../core/files.ts';
import type { HoldFile } from '../checkIn/hold.rules.ts';
import { readHold } from '../checkIn/hold.ts';
import { Releases } from '../release/releases.ts';
import { readLock } from '../state/lock.ts';
import {
  checkBundle,
  checkHold,
  checkLastOutcome,
  checkLastTick,
  checkLock,
  checkReleases,
  checkReports,
  checkState,
  checkTimer,
  checkVolumes,
  type LockFacts,
  parseTimerFacts,
  type ReleasesFacts,
} from './ticks.rules.ts';

/** Options of `deployd doctor`. */
export interface DoctorOptions {
  configPath: string;
  json: boolean;
  /** Reports how the new defaults of this version would change this host, instead of the usual checks. */
  beforeUpgrade?: boolean;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/**
 * `deployd doctor`: exit 0 when every check passes, else 1, also with an invalid configuration. It runs as the user
 * that started it, writes nothing and takes no lock; it only pings the services and looks up the token.
 */
export async function doctor(
  { configPath, json, beforeUpgrade = false, ...options }: DoctorOptions,
  out: Output,
): Promise<number> {
  const input = { ...options, configPath, scope: scopeOf(configPath), ...readConfig(configPath) };
  const diagnosis = await (beforeUpgrade ? runUpgradeChecks : runChecks)(input);
  const text = json ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis);
  out.log(options.vault.redactor().redact(text));
  return diagnosis.passed ? 0 : 1;
}

function readConfig(configPath: string): Pick<DoctorInput, 'settings' | 'problems'> {
  try {
    return { settings: loadSettings(configPath), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return {
      settings: settingsDespite(configPath, error) as DoctorInput['settings'],
      problems: error.lines,
    };
  }
}

async function runChecks(input: DoctorInput): Promise<Diagnosis> {
  const context = await doctorContextOf(input);
  const checks = [checkFiles(context), examineEngine(context), checkNetwork(context), checkTicks(context)];
  const [files = [], engine = [], network = [], ticks = []] = await Promise.all(checks);
  const policy = await examinePolicy(context);
  const made = [
    await examineConfig(context),
    ...files,
    await examineIdentity(context),
    ...network,
    ...engine,
    ...(await examineOrchestrator(context)),
    policy,
    await examineTrust(context),
    ...ticks,
    await examineServices(context),
    await examineUnusedVolumes(context),
  ];
  return diagnosisOf(made.map((check) => withCommands(check, context)));
}

async function runUpgradeChecks(input: DoctorInput): Promise<Diagnosis> {
  const context = await doctorContextOf(input);
  const checks = [await examineConfig(context), ...(await examineUpgrade(context))];
  return diagnosisOf(checks.map((check) => withCommands(check, context)));
}

/** Names the commands of this host: of its agent's scope, and of its engine. */
function withCommands(check: Check, { scope, podman }: DoctorContext): Check {
  const named = (text: string) => withCommandsOf(scope, podman === null ? text : withPodmanCommands(text));
  const findings = check.findings.map(({ problem, fix }) => ({ problem: named(problem), fix: named(fix) }));
  return { ...check, detail: named(check.detail), findings };
}

/** Checks the timer, the results of the last ticks, the hold, the lock, state.json and the releases. */
export async function checkTicks(context: DoctorContext): Promise<Check[]> {
  const { stateFinding, host, settings } = context;
  const { env = null, interval_s: intervalS, laptop_mode: laptop, offline_alarm_s: alarmS } = settings;
  const lock = await lockFacts(context);
  return [
    checkTimer(await timerFacts(context.scope, host.agent.uid), absentUserOf(context)),
    checkLastTick(host, { intervalS, laptop, alarmS, bootTime: bootTimeNow() }),
    checkHold(await holdFacts(context), host.now),
    checkLock(lock, host.now),
    checkState(host, { env, broken: stateFinding }),
    checkVolumes(host),
    checkReleases(await releasesFacts(context, 'known' in lock && lock.known.held)),
    checkBundle(host),
    checkLastOutcome(host),
    checkReports(host),
  ];
}

/** The user of the agent, if its units do not run without a login. */
function absentUserOf({ scope, host }: DoctorContext): string | null {
  const { name } = host.agent;
  return scope === 'user' && !isThere(join('/var/lib/systemd/linger', name)) ? name : null;
}

/** Queries the system's service manager, or the user's. */
async function timerFacts(scope: AgentScope, uid: number) {
  const timer = withCommandsOf(scope, 'deployd.timer');
  const [manager, env] = scope === 'user' ? [['--user'], { XDG_RUNTIME_DIR: `/run/user/${uid}` }] : [[], {}];
  const ask = (...args: string[]) => runHostProgram(['systemctl', ...manager, ...args, timer], env);
  const { stdout: unit } = await ask('show', '--property=LoadState,UnitFileState,ActiveState,SubState');
  const { stdout: timers } = await ask('list-timers', '--output=json');
  return parseTimerFacts(unit, timers);
}

async function holdFacts({ inaccessible, settings }: DoctorContext): Promise<Fact<HoldFile | null>> {
  if (inaccessible !== null) return { unknown: inaccessible };
  return readHold(settings.state_dir).then(
    (known) => ({ known }),
    (error: unknown) => ({ unknown: error instanceof Fault ? error.message : 'hold.json cannot be read' }),
  );
}

async function lockFacts({ inaccessible, settings }: DoctorContext): Promise<Fact<LockFacts>> {
  if (inaccessible !== null) return { unknown: inaccessible };
  const { state_dir, download_timeout_s, pull_timeout_s, up_timeout_s, down_timeout_s } = settings;
  const startS = up_timeout_s + settings.health_timeout_max_s + settings.job_timeout_s;
  const longestS = download_timeout_s + pull_timeout_s + 2 * startS + down_timeout_s + 10 * settings.http_timeout_s;
  return {
    known: { ...(await readLock(state_dir)), present: await exists(join(state_dir, 'lock')), maxTickS: longestS },
  };
}

/** While a tick runs, files in staging belong to it and are not orphaned. */
async function releasesFacts(context: DoctorContext, isTickRunning: boolean): Promise<Fact<ReleasesFacts>> {
  const { inaccessible, host, settings } = context;
  if (inaccessible !== null) return { unknown: inaccessible };
  if (settings.env === undefined) return { unknown: 'the configuration does not name the environment' };
  const home = join(settings.state_dir, settings.env);
  const releases = new Releases(settings.state_dir, home);
  const { applied_sha: applied = null, attempt = null } = ('known' in host.state && host.state.known) || {};
  const isCurrentMeant = applied !== null && attempt === null && !isTickRunning && settings.orchestrator === 'compose';
  const foreign = await releases.current.sha().then(
    () => null,
    (error: unknown) => (error instanceof Fault ? error.message : 'current cannot be read'),
  );
  return {
    known: {
      envDir: home,
      count: (await namesIn(join(home, 'releases'))).length,
      written: await writtenIn(releases, context.signal).catch(() => []),
      keep: settings.keep_releases,
      foreignCurrent: foreign,
      otherCurrent: isCurrentMeant ? await otherCurrent(releases, applied) : null,
      incomplete: applied !== null && !(await releases.isComplete(applied).catch(() => false)),
      orphanedPaths: isTickRunning ? [] : await orphanedFilesIn(home),
    },
  };
}

/**
 * The target of `current` if it is not the applied release; null otherwise. Another check reports a foreign `current`.
 */
async function otherCurrent(releases: Releases, applied: string): Promise<string | null> {
  const sha = await releases.current.sha().catch(() => applied);
  return sha === applied ? null : (sha ?? 'nothing');
}

async function orphanedFilesIn(home: string): Promise<string[]> {
  const staged = (await namesIn(join(home, 'staging'))).map((name) => join(home, 'staging', name));
  const logins = join(home, 'docker-config');
  return [...staged, ...((await exists(logins)) ? [logins] : [])];
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
