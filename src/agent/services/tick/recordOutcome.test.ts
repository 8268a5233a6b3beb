import { plainOutcome } from '../../../../machines/outcomes.ts';
import type { Outcome, RunOptions } from '../../../../machines/types.ts';
import { emptyState, type State } from '../../rules/state/state.ts';
import { recordOutcome } from './recordOutcome.ts';
import type { Dependencies } from '../dependencies.ts';

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
    tick: { hold: null, remarks: [], journal: { error: (line: string) => void errors.push(line) } },
  } as unknown as Dependencies;
  const input = { intent: 'tick' as RunOptions['intent'], outcome, desired: null, observed: null, ...more };
  const { offlineAlarm } = await recordOutcome(deps, input);
  return { offlineAlarm, errors, state };
}

const checkedIn = (at: string): Partial<State> => ({ last_check_in: { at, action: 'none', desired_sha: null } });
const before = { at: daysAgo(2), outcome: 'heartbeat', code: null, detail: null };

it.each([
  ['a host', offline],
  ['a laptop that has an alarm', laptop],
])('alarms for %s that has been offline for too long, and says so', async (_, outcome) => {
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
])('does not alarm for %s', async (_, changed, outcome, more) => {
  const { offlineAlarm, errors, state } = await record({ ...changed, last_outcome: before }, outcome, more);
  expect([offlineAlarm, errors, state.last_outcome]).toEqual([false, [], before]);
});

it('records the first tick of a host that has never checked in, from which it is offline', async () => {
  const { state } = await record({}, offline);
  expect(Date.now() - Date.parse(state.offline_since ?? '')).toBeLessThan(60_000);
  expect((await record({ offline_since: daysAgo(2) }, offline)).offlineAlarm).toBe(true);
});
