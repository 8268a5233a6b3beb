import { play, type Played } from '../fixtures/machine-kit.ts';
import { codeRows, exitRows, reportRows, volumeRows, type CodeRow } from '../fixtures/spec-codes.ts';
import * as facts from '../fixtures/spec-facts.ts';
import { headOf, packageRows, transitionRows } from '../fixtures/spec-table.ts';
import { ignoredPurge, mayRemoveVolumes } from '../src/agent/rules/release/volumes.ts';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { graphOf } from './draw/graph.ts';
import { endings, otherEndings } from './endings.ts';
import { failure, Fault, offline, refused } from './fault.ts';
import { tick } from './tick.ts';
import { refusalCodes, type Orders, type Outcome, type RefusalCode, type Start } from './words.ts';

const arrows = [tick, apply, down].flatMap((machine) => graphOf(machine).arrows);

describe('the transition table', () => {
  it('has all the rows of the specification', () => {
    const ids = new Set([...transitionRows, ...packageRows].map(({ id }) => Number(/\d+/.exec(id)![0])));
    expect([...ids]).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
  });

  it.each(transitionRows)('$id: $words', ({ pure, expect: { ending, exit, report, line } }) => {
    const { path, actions, output } = playTick(pure.start, pure.answers);
    expect(path.join(' ')).toBe(pure.path);
    expect(output).toMatchObject({ ending, lines: pure.silent ? [] : [expect.stringMatching(line)] });
    expect(endings[ending].meta).toEqual({ exit, report });
    expect(actions).toEqual(['tell', 'scrub']);
  });

  it.each(transitionRows)('$id asks every service with the facts of its tick', ({ pure: { start, answers } }) => {
    const { asked, output } = playTick(start, answers);
    const inputs = inputsOf(start, answers.checkIn as Orders, output as Outcome);
    for (const [service, input] of asked) expect([service, input]).toEqual([service, inputs[service]]);
  });

  it.each(transitionRows)('$id is drawn as an arrow of the machines, in the words of the table', (row) => {
    const words = headOf(transitionRows.find(({ id }) => id === row.again) ?? row);
    const steps = arrows.filter(({ description }) => description === words).map(({ from, to }) => `${from} ${to}`);
    expect(steps.filter((step) => row.pure.path.includes(step))).not.toEqual([]);
  });

  it('has no other rows on the arrows than these and those that it leaves open', () => {
    const drawn = arrows.map(({ description }) => description).filter((text) => text?.includes(' | '));
    const rows = new Set(transitionRows.filter(({ again }) => !again).map(headOf));
    expect([...new Set(drawn)].filter((text) => !rows.has(text!))).toEqual([
      'any | check-in returns `none` | host not healthy',
      'any | tick | anything else fails',
      'any | check-in returns `apply` | containers not healthy',
    ]);
  });
});

describe('the exit codes', () => {
  const all = { ...endings, ...otherEndings };

  it.each(exitRows)('$exit: $meaning', ({ exit, endings: names }) => {
    const having = Object.entries(all).filter(([, { meta }]) => meta.exit === exit);
    expect(having.map(([name]) => name).sort()).toEqual([...names].sort());
  });

  it('are reported in the words of the tenancy service, each by one ending', () => {
    const telling = Object.entries(all).flatMap(([name, { meta }]) => (meta.report ? [[meta.report, name]] : []));
    expect(Object.fromEntries(telling)).toEqual(reportRows);
    expect(telling).toHaveLength(Object.keys(reportRows).length);
  });
});

describe('the codes and conditions', () => {
  it('has all refusals, in the order in which they are told', () => {
    expect(codeRows.filter(({ kind }) => kind === 'refusal').map(({ code }) => code)).toEqual(refusalCodes);
  });

  it.each(codeRows)('$at gives up with "$line": $ending', (row) => {
    const { output, asked } = playTick(facts.onServer, meeting(row));
    expect(output).toMatchObject({ ending: row.ending, lines: [row.line], code: row.code });
    expect(endings[row.ending].meta.exit).toBe(row.exit);
    expect(reportOf(asked)).toBe(row.report);
  });

  it.each(codeRows.filter(({ kind }) => kind === 'refusal'))('$code starts nothing', (row) => {
    const services = playTick(facts.onServer, meeting(row)).asked.map(([service]) => service);
    expect(services).toContain(row.at);
    expect(services).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(promote|pull|up)$/)]));
  });

  it.each(codeRows.filter(({ kind }) => kind === 'network'))('$at without a network is normal on a laptop', (row) => {
    const { output } = playTick(facts.onLaptop, meeting(row));
    expect(output).toMatchObject({ ending: 'offlineLaptop', lines: [row.line] });
  });
});

describe('the volume rule', () => {
  it.each(volumeRows)(
    'production $production, purge_volumes $purge_volumes, volumes_on_absent $volumes_on_absent: removed $removed',
    ({ production, purge_volumes, volumes_on_absent: onAbsent, removed, ignored }) => {
      const orders = { ...facts.takeDown, production, purgeVolumes: purge_volumes };
      const { asked } = playTick(facts.onServer, facts.answering(orders));
      const [, input] = asked.find(([service]) => service === 'composeDown')!;
      const given = (input as { orders: Orders }).orders;
      const rule = { production: given.production, purgeRequested: given.purgeVolumes, onAbsent };
      expect(mayRemoveVolumes(rule)).toBe(removed);
      expect(ignoredPurge(rule, []) !== null).toBe(ignored);
    },
  );
});

function playTick(start: Start, answers: Record<string, unknown>): Played {
  return play(tick, start, answers);
}

/** What each service must be asked with; those that are not named need no input. */
function inputsOf({ intent }: Start, answer: Orders | facts.Throws, outcome: Outcome): Record<string, unknown> {
  const isAlone = outcome.ending === 'bootstrapped' || outcome.ending === 'tokenAbsent';
  const orders = isAlone || 'throws' in answer ? null : answer;
  const bundle = facts.unpacked;
  const onBundle = ['readSecrets', 'verify', 'render', 'promote', 'pull', 'awaitHealth'];
  return {
    bootstrap: { intent },
    checkIn: { host: facts.well },
    download: { orders },
    unpack: { orders },
    check: { bundle, orders },
    up: { bundle, orders },
    ...Object.fromEntries(onBundle.map((service) => [service, { bundle }])),
    commit: { bundle, orders },
    putBack: { bundle, orders, outcome },
    revert: { bundle, orders, outcome: { ...outcome, reverted: false } },
    composeDown: { orders },
    conclude: { outcome, orders, host: isAlone ? null : facts.well },
    keepToken: { outcome },
  };
}

/** A tick that comes as far as this row's service, which then gives up. */
function meeting({ kind, at, code, detail, ending, line }: CodeRow): Record<string, unknown> {
  const errors = {
    refusal: () => refused([{ code: code as RefusalCode, detail }]),
    failure: () => failure(code!, detail),
    network: () => offline(detail),
    line: () => new Fault(ending, line, code === null ? {} : { code }),
  };
  const orders = at === 'composeDown' ? facts.takeDown : facts.applyFirst;
  const recall = at === 'bootstrap' ? facts.granted : facts.present;
  return facts.answering(orders, { recall, [at]: errors[kind]() });
}

/** The word that is reported: nothing where the tick goes on without its report. */
function reportOf(asked: Played['asked']): string | null {
  const at = asked.findIndex(([service]) => service === 'conclude');
  if (asked[at + 1]?.[0] !== 'deliverReports') return null;
  return endings[(asked[at]![1] as { outcome: Outcome }).outcome.ending].meta.report;
}
