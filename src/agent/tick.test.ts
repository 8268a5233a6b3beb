import { tempDir } from '../../fixtures/world/tempDir.ts';
import { plainOutcome } from '../../machines/fault.ts';
import type { Outcome, RunOptions } from '../../machines/types.ts';
import { writeHold } from './checkIn/hold.ts';
import { Vault } from './secrets/vault.ts';
import { emptyState, type State } from './state/state.rules.ts';
import { loadState, recordOutcome, type TickDependencies } from './tick.ts';

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const offline: Outcome = { ...plainOutcome('offline'), lines: ['temporary network failure: refused'] };
const laptop: Outcome = { ...offline, ending: 'offlineLaptop' };

/** Records an outcome without a check-in, on a host whose alarm is a day. */
async function record(changed: Partial<State>, outcome: Outcome, { alarmS = 86_400, ...more } = {}) {
  const state: State = { ...emptyState('eu-1'), ...changed };
  const errors: string[] = [];
  const deps = {
    settings: { offline_alarm_s: alarmS },
    state: { state, update: async (patch: Partial<State>) => void Object.assign(state, patch) },
    releases: { list: async () => [] },
    stop: new AbortController(),
    tick: { journal: { error: (line: string) => void errors.push(line), remarks: [] } },
  } as unknown as TickDependencies;
  const input = { intent: 'tick' as RunOptions['intent'], outcome, desired: null, observed: null, hold: null, ...more };
  const { offlineAlarm } = await recordOutcome(deps, input);
  return { offlineAlarm, errors, state };
}

const checkedIn = (at: string): Partial<State> => ({ last_check_in: { at, action: 'none', desired_sha: null } });
const before = { at: daysAgo(2), outcome: 'heartbeat', code: null, detail: null };

it.each([
  ['a host', offline],
  ['a laptop that has an alarm', laptop],
])('logs an alarm for %s that has been offline for too long, and records it', async (_, outcome) => {
  const at = daysAgo(2);
  const { offlineAlarm, errors, state } = await record({ ...checkedIn(at), last_outcome: before }, outcome);
  const line = `no check-in since ${at}, for longer than offline_alarm_s (86400 s)`;
  expect([offlineAlarm, errors, state.offline_since]).toEqual([true, [line], at]);
  const detail = `${line}\ntemporary network failure: refused`;
  expect(state.last_outcome).toMatchObject({ outcome: 'offlineAlarm', code: null, detail });
});

it.each<[string, Partial<State>, Outcome, object]>([
  ['a host that has been offline for an hour', checkedIn(daysAgo(1 / 24)), offline, {}],
  ['one whose first tick it is', {}, offline, {}],
  ['one without an alarm', checkedIn(daysAgo(900)), offline, { alarmS: null }],
  ['a bootstrap by hand', checkedIn(daysAgo(2)), offline, { intent: 'bootstrap' }],
  ['a tick that has checked in and then lost the secretstore', checkedIn(daysAgo(2)), offline, { desired: {} }],
  ['a tick that another one kept from its work', checkedIn(daysAgo(2)), plainOutcome('busy'), {}],
])('logs no alarm for %s', async (_, changed, outcome, more) => {
  const { offlineAlarm, errors, state } = await record({ ...changed, last_outcome: before }, outcome, more);
  expect([offlineAlarm, errors, state.last_outcome]).toEqual([false, [], before]);
});

it('records the first tick of a host that has never checked in, from which it is offline', async () => {
  const { state } = await record({}, offline);
  expect(Date.now() - Date.parse(state.offline_since ?? '')).toBeLessThan(60_000);
  expect((await record({ offline_since: daysAgo(2) }, offline)).offlineAlarm).toBe(true);
});

it('treats an unusable token as a secret that the redactor does not know', async () => {
  const sweeps: boolean[] = [];
  const vault = new Vault((tokenAlone) => void sweeps.push(tokenAlone));
  const credentials = {
    warnings: async () => [],
    readToken: async () => {
      throw new Error('holds more than one word');
    },
  };
  const emptyState = { last_check_in: null, applied_sha: null, attempt: null };
  const deps = {
    vault,
    credentials,
    settings: { state_dir: '/nowhere', transport: 'system' },
    tick: {},
    state: { state: emptyState, load: async () => emptyState },
    compose: { terminateOrphans: async () => false },
    releases: { current: { inspect: async () => ({ sha: null, isForeign: false }) }, removeLeftovers: async () => [] },
    stop: new AbortController(),
  } as unknown as TickDependencies;
  await expect(loadState(deps)).rejects.toThrow('more than one word');
  vault.clear();
  expect(sweeps).toEqual([false]);
});

it('restores the backup of a release whose rendering a crash interrupted, under a hold too', async () => {
  const sha = 'a'.repeat(64);
  let restored = false;
  const [state_dir, tick] = [tempDir(), {}];
  await writeHold(state_dir, { until: '2100-01-01T00:00:00.000Z', reason: 'disk swap' });
  const emptyState = { last_check_in: null, applied_sha: sha, attempt: null, token: {} };
  const deps = {
    vault: new Vault(),
    credentials: { warnings: async () => [], readToken: async () => null, hasGrant: async () => false },
    settings: { bootstrap_file: '/nowhere', state_dir, transport: 'system' },
    tick,
    state: { state: emptyState, load: async () => emptyState },
    compose: { terminateOrphans: async () => false },
    releases: {
      isComplete: async () => restored,
      restoreBackup: async () => void (restored = true),
      current: { inspect: async () => ({ sha, isForeign: false }) },
      removeLeftovers: async () => [],
    },
    stop: new AbortController(),
  } as unknown as TickDependencies;
  expect(await loadState(deps)).toMatchObject({ hasToken: false, hold: { reason: 'disk swap' } });
  expect(restored).toBe(true);
});
