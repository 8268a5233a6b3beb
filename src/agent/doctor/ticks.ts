import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../machines/fault.ts';
import { runHostProgram } from '../../core/accounts.ts';
import { bootTimeNow } from '../../core/clock.ts';
import type { Check, Fact } from '../../core/doctor.rules.ts';
import { isThere } from '../../core/files.ts';
import type { HoldFile } from '../checkIn/hold.rules.ts';
import { readHold } from '../checkIn/hold.ts';
import { type AgentScope, withCommandsOf } from '../config/namedEnvs.ts';
import { Releases } from '../release/releases.ts';
import { readLock } from '../state/lock.ts';
import type { DoctorContext } from './host.ts';
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
import { writtenIn } from './upgrade.ts';

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
