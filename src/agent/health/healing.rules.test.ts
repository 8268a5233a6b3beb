import type { ServiceProblem } from '../../../machines/types.ts';
import type { HealingHistory } from '../state/state.rules.ts';
import { afterHealing, afterObservation, isRestartedTooOften, planHealing, relapses } from './healing.rules.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (minutes: number) => new Date(start + minutes * 60_000);
const problem = (service: string, more: Partial<ServiceProblem> = {}): ServiceProblem => {
  return { service, detail: 'exited(1)', cure: 'start', containers: [], isFailure: true, ...more };
};
const web = problem('web');
const nothing = new Map<string, never>();

/** The records after these ticks: `H` fails and is healed, `F` fails without a heal, `.` is healthy; a minute apart. */
function historyOf(ticks: string): HealingHistory {
  return ticks.split('').reduce<HealingHistory>((history, tick, minute) => {
    const found = afterObservation(history, { problems: tick === '.' ? [] : [web], restarts: nothing }, at(minute));
    return tick === 'H' ? afterHealing(found, ['web'], at(minute)) : found;
  }, {});
}

it.each([
  ['', undefined, undefined],
  ['H', 1, 1],
  ['HH', 2, 2],
  ['HHH', 3, 3],
  ['HH.H', 1, 3],
  ['FFFF', 1, 0],
  ['HFFF', 2, 1],
  ['H.........', 0, 1],
  ['H..........', undefined, undefined],
])('after the ticks %j a service has failed in %j rows and was healed %j times', (ticks, row, heals) => {
  expect(historyOf(ticks)['web']?.row).toBe(row);
  expect(historyOf(ticks)['web']?.heals).toBe(heals);
});

it.each([
  [1, 0],
  [2, 0],
  [3, 60],
  [4, 120],
  [7, 960],
  [8, 1800],
  [20, 1800],
])('after %j heals the next heal waits for %j seconds', (heals, seconds) => {
  const { retry_at } = historyOf('H'.repeat(heals))['web']!;
  expect(retry_at).toBe(seconds === 0 ? null : new Date(at(heals - 1).getTime() + seconds * 1000).toISOString());
});

it.each<[string, ServiceProblem[], string, string]>([
  ['all of them at first', [web, problem('db')], '', 'web,db /'],
  ['none without a cure', [{ ...web, cure: 'none' }], '', ' / web'],
  ['none of a service before its time', [web, problem('db')], 'HHH', 'db / web'],
  ['what only starts at any time', [{ ...web, isFailure: false, cure: 'wait' }], 'HHH', 'web /'],
  ['none of a service with a problem that stays', [web, { ...web, cure: 'none' }], '', ' / web,web'],
])('a heal cures %s', (_, problems, ticks, expected) => {
  const { due, left } = planHealing(problems, historyOf(ticks), at(Math.max(0, ticks.length - 1)));
  const names = (of: ServiceProblem[]) => of.map(({ service }) => service).join(',');
  expect(`${names(due)} / ${names(left)}`.trimEnd()).toBe(expected);
});

it('heals a service at once if a tick found it healthy in between', () => {
  expect(planHealing([web], historyOf('HHH.F'), at(3)).due).toEqual([web]);
});

it('does not delay a heal if the clock was set back', () => {
  const { due } = planHealing([web], historyOf('HHHHHHHH'), at(-525_600));
  expect(due).toEqual([web]);
});

it('names a service that needed heals in a row, and the time of the next heal', () => {
  expect(relapses(historyOf('HH'), ['web'], at(1))).toEqual([]);
  expect(relapses(historyOf('HHH'), ['web', 'db'], at(2))).toEqual([
    'web needed a heal on 3 ticks in a row, healed 3 times; next heal in 60s',
  ]);
});

it.each([
  ['twice in half a minute after its creation', 2, 0.5, undefined, true],
  ['once in half a minute', 1, 0.5, undefined, false],
  ['ten times in an hour', 10, 60, undefined, false],
  ['five times in the last minute of an hour', 10, 60, { id: 'c1', count: 5, at: at(59).toISOString() }, true],
  ['once since the last count', 10, 60, { id: 'c1', count: 9, at: at(59).toISOString() }, false],
  ['often, counted for another container', 3, 1, { id: 'c0', count: 3, at: at(0).toISOString() }, true],
  ['often, counted in the future', 3, 1, { id: 'c1', count: 3, at: at(9).toISOString() }, true],
])('a container that was restarted %s', (_, restarts, minutes, counted, expected) => {
  const container = { id: 'c1', restarts, createdMs: start };
  expect(isRestartedTooOften(container, counted, at(minutes).getTime())).toBe(expected);
});
