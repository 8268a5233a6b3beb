import { simulate, type Simulation } from '../fixtures/suites/spec/machineSimulation.ts';
import { type CodeRow, codeRows, exitRows, reportRows, volumeRows } from '../fixtures/suites/spec/outcomeTables.ts';
import * as facts from '../fixtures/suites/spec/tickFacts.ts';
import { packageRows } from '../fixtures/suites/spec/packageRows.ts';
import { triggerOf } from '../fixtures/suites/spec/transitionRow.ts';
import { transitionRows } from '../fixtures/suites/spec/transitionTable.ts';
import { formatIgnoredPurge, mayRemoveVolumes } from '../src/agent/release/volumes.rules.ts';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { graphOf } from './graph.ts';
import { commandEndings, endings } from './endings.ts';
import { failedFault, Fault, offlineFault, refusedFault } from './fault.ts';
import { tick } from './tick.ts';
import { type RefusalCode, refusalCodes } from './refusals.ts';
import type { DesiredState, Outcome, RunOptions } from './types.ts';

const arrows = [tick, apply, down].flatMap((machine) => graphOf(machine).arrows);

describe('the transition table', () => {
  it('has every row of the specification', () => {
    const ids = new Set([...transitionRows, ...packageRows].map(({ id }) => Number(/\d+/.exec(id)![0])));
    expect([...ids]).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
  });

  it.each(transitionRows)('$id: $words', ({ machine, expect: { ending, exit, report, line } }) => {
    const { path, actions, output } = playTick(machine.start, machine.answers);
    expect(path.join(' ')).toBe(machine.path);
    expect(output).toMatchObject({ ending, lines: machine.silent ? [] : [expect.stringMatching(line)] });
    expect(endings[ending].meta).toEqual({ exit, report });
    expect(actions).toEqual(['logOutcome', 'clearSecrets']);
  });

  it.each(transitionRows)('$id invokes every service with the facts of its tick', ({ machine: { start, answers } }) => {
    const { serviceCalls, output } = playTick(start, answers);
    const inputs = inputsOf(start, answers.checkIn as DesiredState, output as Outcome);
    for (const [service, input] of serviceCalls) expect([service, input]).toEqual([service, inputs[service]]);
  });

  it.each(transitionRows)('$id is an arrow of the machines, with the text of the table', (row) => {
    const words = triggerOf(transitionRows.find(({ id }) => id === row.sameArrowAs) ?? row);
    const steps = arrows.filter(({ description }) => description === words).map(({ from, to }) => `${from} ${to}`);
    expect(steps.filter((step) => row.machine.path.includes(step))).not.toEqual([]);
  });

  it('covers every row that an arrow names, except those without a fixed ending', () => {
    const drawn = arrows.map(({ description }) => description).filter((text) => text?.includes(' | '));
    const rows = new Set(transitionRows.filter(({ sameArrowAs }) => !sameArrowAs).map(triggerOf));
    expect([...new Set(drawn)].filter((text) => !rows.has(text!))).toEqual([
      'any | check-in returns `none` | host not healthy',
      'any | tick | anything else fails',
      'any | tick | it failed and changed no container, and the host is not healthy',
      'any | check-in returns `apply` | containers not healthy',
    ]);
  });
});

describe('the exit codes', () => {
  const all = { ...endings, ...commandEndings };

  it.each(exitRows)('$exit: $meaning', ({ exit, endings: names }) => {
    const matching = Object.entries(all).filter(([, { meta }]) => meta.exit === exit);
    expect(matching.map(([name]) => name).sort()).toEqual([...names].sort());
  });

  it('map each outcome word of a report to its endings', () => {
    const reporting = Object.entries(all).filter(([, { meta }]) => meta.report !== null);
    const byWord = Object.groupBy(reporting, ([, { meta }]) => meta.report ?? '');
    const endingsOf = (rows: typeof reporting = []) => rows.map(([name]) => name);
    expect(Object.fromEntries(Object.entries(byWord).map(([word, rows]) => [word, endingsOf(rows)]))).toEqual(
      reportRows,
    );
  });
});

describe('the codes and conditions', () => {
  it('has every refusal, in the order of reporting', () => {
    expect(codeRows.filter(({ kind }) => kind === 'refusal').map(({ code }) => code)).toEqual(refusalCodes);
  });

  it.each(codeRows)('$at fails with "$line": $ending', (row) => {
    const { output, serviceCalls } = playTick(facts.serverStart, answersFailingAt(row));
    expect(output).toMatchObject({ ending: row.ending, lines: [row.line], code: row.code });
    expect(endings[row.ending].meta.exit).toBe(row.exit);
    expect(reportOf(serviceCalls)).toBe(row.report);
  });

  it.each(codeRows.filter(({ kind }) => kind === 'refusal'))('$code starts nothing', (row) => {
    const services = playTick(facts.serverStart, answersFailingAt(row)).serviceCalls.map(([service]) => service);
    expect(services).toContain(row.service);
    expect(services).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(promote|pull|startContainers)$/)]));
  });

  it.each(codeRows.filter(({ kind }) => kind === 'network'))(
    '$at without a network is not a failure on a laptop',
    (row) => {
      const { output } = playTick(facts.laptopStart, answersFailingAt(row));
      expect(output).toMatchObject({ ending: 'offlineLaptop', lines: [row.line] });
    },
  );
});

describe('the volume rule', () => {
  it.each(volumeRows)(
    'production $production, purge_volumes $purge_volumes, volumes_on_absent $volumes_on_absent: removed $removed',
    ({ production, purge_volumes, volumes_on_absent: onAbsent, removed, ignored }) => {
      const desired = { ...facts.desiredDown, production, purgeVolumes: purge_volumes };
      const { serviceCalls } = playTick(facts.serverStart, facts.serviceAnswers(desired));
      const [, input] = serviceCalls.find(([service]) => service === 'composeDown')!;
      const received = (input as { desired: DesiredState }).desired;
      const { production: isProduction, purgeVolumes: purgeRequested } = received;
      const rule = { production: isProduction, purgeRequested, onAbsent, denied: false };
      expect(mayRemoveVolumes(rule)).toBe(removed);
      expect(formatIgnoredPurge(rule, []) !== null).toBe(ignored);
    },
  );
});

function playTick(start: RunOptions, answers: Record<string, unknown>): Simulation {
  return simulate(tick, start, answers);
}

/** The input that each service must receive; services that are not listed are not checked. */
function inputsOf(
  { intent }: RunOptions,
  answer: DesiredState | facts.Throws,
  outcome: Outcome,
): Record<string, unknown> {
  const isBootstrapped = outcome.ending === 'bootstrapped';
  const isBeforeCheckIn = isBootstrapped || outcome.ending === 'tokenAbsent';
  const desired = isBeforeCheckIn || 'throws' in answer ? null : answer;
  const [hold, cargo] = [null, cargoBefore({ desired, hold: null })];
  const { ending, code, lines, tail, reason, reverted } = outcome;
  const recorded = { ending, code, lines, tail, reason, reverted };
  return {
    bootstrap: { intent },
    checkIn: { hold, grantRefusal: null, observed: facts.hostHealthy },
    deliverReports: { heartbeat: null },
    ...cargo,
    clearStaging: { desired },
    restoreCurrent: { ...cargo['pull'], outcome: recorded },
    revertRelease: { ...cargo['startContainers'], outcome: { ...recorded, reverted: false } },
    composeDown: { hold, desired },
    recordOutcome: { intent, hold, outcome: recorded, desired, observed: isBootstrapped ? null : facts.hostHealthy },
    renewToken: { outcome: recorded },
  };
}

/** The input of each service of an apply: the outputs of the services before it, in the order of the machine. */
function cargoBefore(start: object): Record<string, object> {
  let cargo = start;
  return Object.fromEntries(
    graphOf(apply).boxes.flatMap(({ invokes }) => {
      if (invokes === null) return [];
      const before = cargo;
      cargo = { ...cargo, ...facts.cargoAnswers[invokes] };
      return [[invokes, before]];
    }),
  );
}

/** Answers for a tick in which this row's service fails. */
function answersFailingAt({ kind, service, code, detail, ending, line }: CodeRow): Record<string, unknown> {
  const errors = {
    refusal: () => refusedFault([{ code: code as RefusalCode, detail }]),
    failure: () => failedFault(code!, detail),
    network: () => offlineFault(detail),
    line: () => new Fault(ending, line, code === null ? {} : { code }),
  };
  const desired = service === 'composeDown' ? facts.desiredDown : facts.desiredFirstApply;
  const loadState = service === 'bootstrap' ? facts.grantPresent : facts.tokenPresent;
  const observeHost = code === 'RUNTIME_UNAVAILABLE' ? facts.engineAway : facts.hostHealthy;
  return facts.serviceAnswers(desired, { loadState, observeHost, [service]: errors[kind]() });
}

/** The outcome word of the report; null when the tick sends none. */
function reportOf(calls: Simulation['serviceCalls']): string | null {
  const at = calls.findIndex(([service]) => service === 'recordOutcome');
  if (calls[at + 1]?.[0] !== 'deliverReports') return null;
  return endings[(calls[at]![1] as { outcome: Outcome }).outcome.ending].meta.report;
}
