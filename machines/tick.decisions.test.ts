import { type AnyStateMachine, createActor, fromPromise, toPromise } from 'xstate';
import { simulate } from '../fixtures/suites/spec/machineSimulation.ts';
import * as facts from '../fixtures/suites/spec/tickFacts.ts';
import { apply } from './apply.ts';
import { failedFault, plainOutcome, wasInterrupted } from './fault.ts';
import { tick } from './tick.ts';
import type { DesiredState, Outcome, RunOptions } from './types.ts';

/** Decisions of a tick that are not in the specification's table. */
const bearerRefused = facts.failsWith('unauthenticated', 'AGENT_UNAUTHENTICATED: bearer refused');
const offline = facts.failsWith('offline', 'temporary network failure: connection refused');
const stopped = facts.failsWith('stopped', 'stopped by SIGTERM');
const interrupted = facts.failsWith('interrupted', 'engine unreachable in mid-tick');
const failed = facts.failsWith('failed', 'failed: anything');

it.each<[string, DesiredState, Record<string, unknown>, string]>([
  ['heals an unhealthy host', facts.desiredNone, { heal: plainOutcome('unhealthy') }, 'healing unhealthy'],
  ['heals it while a failed bundle waits', facts.desiredInBackoff, { heal: plainOutcome('paused') }, 'healing paused'],
  [
    'applies a bundle without healing first',
    facts.desiredFirstApply,
    { unpack: failed, healDespite: plainOutcome('failed') },
    'applying failed',
  ],
  ['takes the project down without healing first', facts.desiredDown, {}, 'takingDown down'],
  ['does nothing under a hold', facts.desiredHeld, {}, 'recordingOutcome held'],
  ['heals it outside a window', facts.desiredOutsideWindow, { heal: plainOutcome('converged') }, 'healing converged'],
])('on an unhealthy host %s', (_, desired, answers, expected) => {
  const more = { observeHost: facts.hostUnhealthy, ...answers };
  const { path, output } = simulate(tick, facts.serverStart, facts.serviceAnswers(desired, more));
  expect(`${path[path.indexOf('deciding') + 1]} ${(output as Outcome).ending}`).toBe(expected);
});

const pullFailed = { pull: facts.failsWith('failed', 'failed: docker compose pull failed (rc=1)') };

it.each<[string, DesiredState | facts.Throws, Record<string, unknown>, boolean]>([
  ['a failed check-in', offline, {}, true],
  ['a refused bearer', bearerRefused, {}, true],
  ['a token of another env', facts.failsWith('envMismatch', 'AGENT_ENV_MISMATCH: x'), {}, false],
  ['an engine that went away', interrupted, {}, false],
  ['a stop', stopped, {}, false],
  ['no token', facts.desiredNone, { loadState: facts.tokenAbsent }, true],
  ['a refused bundle', facts.desiredRotatedApply, { validateBundle: facts.failsWith('refused', 'refused: x') }, true],
  ['images that cannot be pulled', facts.desiredRotatedApply, pullFailed, true],
  ['a revert that succeeded', facts.desiredRotatedApply, { startContainers: failed }, false],
  ['a down that failed', facts.desiredDown, { composeDown: failed }, false],
  ['a heal that failed', facts.desiredNone, { heal: failed }, false],
])('an unhealthy host after %s', (_, checkIn, answers, isHealed) => {
  const outcome = plainOutcome('refused');
  const more = { observeHost: facts.hostUnhealthy, healDespite: outcome, ...answers };
  const { path, output } = simulate(tick, facts.serverStart, facts.serviceAnswers(checkIn, more));
  expect(path.includes('healingDespite')).toBe(isHealed);
  if (isHealed) expect(output).toMatchObject(outcome);
});

it('passes the observed and the desired state to the heal', () => {
  const answers = { observeHost: facts.hostUnhealthy, heal: plainOutcome('converged') };
  const { serviceCalls } = simulate(tick, facts.serverStart, facts.serviceAnswers(facts.desiredNone, answers));
  expect(serviceCalls).toContainEqual([
    'heal',
    { hold: null, observed: facts.hostUnhealthy, desired: facts.desiredNone },
  ]);
});

it('repeats the failure of a bundle whose retry is not due, without a report', () => {
  const { path, output } = simulate(tick, facts.serverStart, facts.serviceAnswers(facts.desiredInBackoff));
  expect(path.slice(path.indexOf('deciding') + 1).join(' ')).toBe(
    'recordingOutcome decidingPrune renewingToken releasingLock selectingEnding paused',
  );
  expect(output).toMatchObject({ ...plainOutcome('paused'), lines: ['failed: docker compose up failed (rc=1)'] });
});

it.each<[ending: string, reason: string, desired: DesiredState]>([
  ['held', 'waits:hold', facts.desiredHeld],
  ['held', 'waits:hold', { ...facts.desiredHeld, ...facts.desiredDown, deferral: facts.desiredHeld.deferral }],
  ['held', 'waits:hold', { ...facts.desiredInBackoff, deferral: facts.desiredHeld.deferral }],
  ['outsideWindow', 'waits:window', facts.desiredOutsideWindow],
  ['converged', 'leader:manager-1', facts.desiredByLeader],
])('ends %s with the heartbeat of a waiting host, renews the token and starts nothing', (ending, reason, desired) => {
  const { path, serviceCalls, output } = simulate(tick, facts.pruneStart, facts.serviceAnswers(desired));
  expect(path.slice(path.indexOf('deciding') + 1).join(' ')).toBe(
    `recordingOutcome reporting decidingPrune pruning renewingToken releasingLock selectingEnding ${ending}`,
  );
  expect(output).toMatchObject({ ...plainOutcome(ending as 'held'), reason, lines: [desired.deferral!.line] });
  expect(serviceCalls.map(([service]) => service)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(heal|download|promote|composeDown)$/)]),
  );
});

it('reverts an interrupted attempt and converges a healthy host in spite of a hold', () => {
  const deferral = { ...facts.desiredHeld.deferral!, mayHeal: true };
  const answers = { observeHost: facts.hostAttemptInProgress, heal: plainOutcome('converged') };
  const undone = simulate(tick, facts.serverStart, facts.serviceAnswers({ ...facts.desiredHeld, deferral }, answers));
  expect(undone.path).toContain('healing');
  const calm = simulate(tick, facts.serverStart, facts.serviceAnswers(facts.desiredNone));
  expect(calm.output).toMatchObject({ ending: 'converged' });
});

it.each<[string, boolean, DesiredState | facts.Throws, Record<string, unknown>]>([
  ['reverts it when the check-in fails', true, offline, {}],
  ['reverts it when the next apply cannot begin', true, facts.desiredFirstApply, { download: failed }],
  ['keeps it when the project cannot be taken down', false, facts.desiredDown, { composeDown: failed }],
  ['keeps it when the tick is stopped', false, stopped, {}],
  ['keeps it when the engine goes away', false, interrupted, {}],
])('after an interrupted attempt %s', (_, reverts, checkIn, answers) => {
  const more = { observeHost: facts.hostAttemptInProgress, ...answers };
  const { path } = simulate(tick, facts.serverStart, facts.serviceAnswers(checkIn, more));
  expect(path[path.indexOf('classifyingFault') + 1]).toBe(reverts ? 'revertingInterrupted' : 'classifyingOutcome');
});

it.each<[string, RunOptions, DesiredState | facts.Throws, unknown[]]>([
  [
    'after success with --prune',
    facts.pruneStart,
    facts.desiredNone,
    [{ hold: null, outcome: plainOutcome('converged') }],
  ],
  ['not after a failure', facts.pruneStart, failed, []],
  ['not without --prune', facts.serverStart, facts.desiredNone, []],
])('prunes %s', (_, start, checkIn, inputs) => {
  const { serviceCalls } = simulate(tick, start, facts.serviceAnswers(checkIn));
  expect(serviceCalls.filter(([service]) => service === 'prune').map(([, input]) => input)).toEqual(inputs);
});

it.each<[string, DesiredState | facts.Throws, Partial<Outcome>]>([
  ['is the ending of a tick without a failure', facts.desiredNone, plainOutcome('tokenAtRisk')],
  ['does not hide a failure', failed, { ending: 'failed', lines: ['failed: anything'] }],
])('a token at risk %s', (_, checkIn, expected) => {
  const answers = facts.serviceAnswers(checkIn, { renewToken: { atRisk: true } });
  expect(simulate(tick, facts.serverStart, answers).output).toMatchObject(expected);
});

it('fails a tick that has been offline for too long, on a laptop too, and keeps its lines', () => {
  const answers = facts.serviceAnswers(offline, { recordOutcome: { offlineAlarm: true } });
  for (const start of [facts.serverStart, facts.laptopStart])
    expect(simulate(tick, start, answers).output).toMatchObject({
      ending: 'offlineAlarm',
      lines: [offline.throws.line],
    });
});

it('fails a bootstrap without a network on a laptop too', () => {
  const answers = facts.serviceAnswers(facts.desiredNone, { loadState: facts.grantPresent, bootstrap: offline });
  const start = { ...facts.laptopStart, intent: 'bootstrap' as const };
  expect(simulate(tick, start, answers).output).toMatchObject({ ending: 'offline' });
});

describe('an apply that fails after its promotion', () => {
  const input = { desired: facts.desiredFirstApply, hold: null, engineAnswered: true };
  const applying = (answers: object) => simulate(apply, input, { ...facts.cargoAnswers, ...answers });

  it('keeps its failure and takes lines from the revert', () => {
    const fails = facts.failsWith('failed', 'failed: up', { code: 'UP_FAILED', tail: 'port is taken' });
    const reverts = { reverted: true, lines: ['failed: up', 'reverted'] };
    const { output } = applying({ startContainers: fails, revertRelease: reverts });
    expect(output).toEqual({ ...plainOutcome('failed'), code: 'UP_FAILED', tail: 'port is taken', ...reverts });
  });

  it('ends offline on a laptop too', () => {
    expect(applying({ awaitHealth: offline }).output).toMatchObject({ ending: 'offline' });
  });

  const engineGone = facts.failsWith('failed', 'RUNTIME_UNAVAILABLE: no answer', { code: 'RUNTIME_UNAVAILABLE' });

  it.each([stopped, interrupted, engineGone])('reverts nothing if it was interrupted: $throws.line', (cut) => {
    const { path, output } = applying({ pull: cut });
    expect(path.slice(-2)).toEqual(['pulling', 'done']);
    expect(wasInterrupted(output as Outcome)).toBe(true);
  });
});

it.each(['recordOutcome', 'prune', 'renewToken'])('logs a fault of %s after the outcome', async (service) => {
  const fault = failedFault('ANY', 'anything');
  const logged = await faultsLogged(facts.pruneStart, facts.serviceAnswers(facts.desiredNone, { [service]: fault }));
  expect(logged).toEqual([undefined, fault]);
});

it('logs a fault of revertInterrupted before the outcome', async () => {
  const fault = failedFault('ANY', 'anything');
  const more = { observeHost: facts.hostAttemptInProgress, download: fault, revertInterrupted: fault };
  expect(await faultsLogged(facts.serverStart, facts.serviceAnswers(facts.desiredFirstApply, more))).toEqual([
    fault,
    undefined,
  ]);
});

/** The fault of each line that the tick logs, undefined for its outcome. */
async function faultsLogged(input: RunOptions, answers: Record<string, unknown>): Promise<unknown[]> {
  const logged: unknown[] = [];
  const answer = (name: string) =>
    fromPromise(async () => {
      if (answers[name] instanceof Error) throw answers[name];
      return answers[name];
    });
  const provided = (machine: AnyStateMachine) =>
    Object.fromEntries(Object.keys(machine.implementations.actors).map((name) => [name, answer(name)]));
  const machine = (tick as AnyStateMachine).provide({
    actors: { ...provided(tick), apply: (apply as AnyStateMachine).provide({ actors: provided(apply) }) },
    actions: {
      logOutcome: (_: unknown, params?: { error: unknown }) => logged.push(params?.error),
      clearSecrets: () => undefined,
    },
  });
  await toPromise(createActor(machine, { input }).start());
  return logged;
}
