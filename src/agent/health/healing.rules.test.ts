import { runningContainer } from '../../../fixtures/world/engine/stubContainer.ts';
import type { ServiceProblem } from '../../../machines/types.ts';
import type { HealingHistory } from '../state/state.rules.ts';
import {
  afterHealing,
  afterObservation,
  isRestartedTooOften,
  lateFailures,
  planHealing,
  relapses,
} from './healing.rules.ts';

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

const services = [
  { name: 'task', replicas: 1, kind: 'once' as const },
  { name: 'job', replicas: 1, kind: 'job' as const },
  { name: 'web', replicas: 1, kind: 'service' as const },
];
const ended = { ...runningContainer, service: 'task', state: 'exited', exitCode: 3, finishedMs: 1500 };
const times = { appliedMs: 1000, windowMs: 1000, bootMs: 0 };

describe('a failure soon after the apply', () => {
  it.each([
    ['an error in the window', {}, true],
    ['one at its end', { finishedMs: 2000 }, true],
    ['one before the commit was written', { finishedMs: 900 }, true],
    ['one after it', { finishedMs: 2001 }, false],
    ['one without a time', { finishedMs: undefined }, false],
    ['the exit code 0', { exitCode: 0 }, false],
    ['a signal from outside', { exitCode: 137 }, false],
    ['want of memory', { exitCode: 137, oomKilled: true }, true],
    ['a crash by a signal of its own', { exitCode: 139 }, true],
    ['a container with a healthcheck', { health: 'unhealthy' }, false],
    ['a running container', { state: 'running' }, false],
    ['a job', { service: 'job' }, false],
    ['a service with a restart policy', { service: 'web' }, false],
    ['a service of an older record', { service: 'other' }, false],
    ['a container that another tool created', { id: 'foreign' }, false],
  ])('%s', (_title, change, counts) => {
    const recorded = [{ ...ended, image: '', networks: [], volumes: [], number: '1' }];
    const found = [{ ...ended, ...change } as typeof ended];
    expect(lateFailures(found, { services, containers: recorded }, times)).toHaveLength(counts ? 1 : 0);
  });

  it('does not count if the host was started meanwhile', () => {
    expect(lateFailures([ended], { services }, { ...times, bootMs: 1200 })).toEqual([]);
  });

  it('counts with a record of an older agent, which has no containers', () => {
    expect(lateFailures([ended], { services }, times)).toEqual([ended]);
  });
});
