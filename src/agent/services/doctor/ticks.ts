import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import { readLock } from '../../adapters/files/lock.ts';
import { askHost } from '../../adapters/host/programs.ts';
import { Releases } from '../../adapters/files/releases.ts';
import type { Check } from '../../rules/doctor/doctor.ts';
import {
  judgeLastTick,
  judgeLock,
  judgeReleases,
  judgeState,
  judgeTimer,
  timerFactsOf,
  type LockFacts,
  type ReleasesFacts,
} from '../../rules/doctor/ticks.ts';
import type { Known } from '../../rules/plan/plan.ts';
import type { Site } from './site.ts';

/** The timer, the last tick, the lock, the state file and the releases. */
export async function examineTicks(site: Site): Promise<Check[]> {
  const { broken, host, settings } = site;
  const { env = null, interval_s: intervalS, laptop_mode: laptop } = settings;
  const lock = await lockFacts(site);
  return [
    judgeTimer(await timerFacts()),
    judgeLastTick(host, { intervalS, laptop }),
    judgeLock(lock, host.now),
    judgeState(host, { env, broken }),
    judgeReleases(await releasesFacts(site, 'is' in lock && lock.is.held)),
  ];
}

async function timerFacts() {
  const properties = '--property=LoadState,UnitFileState,ActiveState,SubState';
  const { stdout: shown } = await askHost(['systemctl', 'show', 'deployd.timer', properties]);
  const { stdout: listed } = await askHost(['systemctl', 'list-timers', '--output=json', 'deployd.timer']);
  return timerFactsOf(shown, listed);
}

async function lockFacts({ hidden, settings }: Site): Promise<Known<LockFacts>> {
  if (hidden !== null) return { unknown: hidden };
  const { state_dir, download_timeout_s, pull_timeout_s, up_timeout_s, down_timeout_s, health_timeout_s } = settings;
  const twice = up_timeout_s + health_timeout_s;
  const longestS = download_timeout_s + pull_timeout_s + 2 * twice + down_timeout_s + 10 * settings.http_timeout_s;
  return { is: { ...(await readLock(state_dir)), present: await exists(join(state_dir, 'lock')), longestS } };
}

/** While a tick works, what lies in staging is its own. */
async function releasesFacts(site: Site, atWork: boolean): Promise<Known<ReleasesFacts>> {
  const { hidden, host, settings } = site;
  if (hidden !== null) return { unknown: hidden };
  if (settings.env === undefined) return { unknown: 'the configuration does not say which env this is' };
  const home = join(settings.state_dir, settings.env);
  const releases = new Releases(settings.state_dir, home);
  const applied = 'is' in host.state ? (host.state.is?.applied_sha ?? null) : null;
  const foreign = await releases.current.sha().then(
    () => null,
    (error: unknown) => (error instanceof Fault ? error.message : 'current cannot be read'),
  );
  return {
    is: {
      home,
      count: (await namesIn(join(home, 'releases'))).length,
      keep: settings.keep_releases,
      foreign,
      incomplete: applied !== null && !(await releases.isWhole(applied).catch(() => false)),
      leftovers: atWork ? [] : await leftoversIn(home),
    },
  };
}

async function leftoversIn(home: string): Promise<string[]> {
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
