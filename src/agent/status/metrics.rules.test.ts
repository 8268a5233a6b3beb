import { endingNames } from '../../../machines/endings.ts';
import { refusals } from '../../../machines/refusals.ts';
import type { ReportedContainer } from '../../../machines/types.ts';
import { formatPrometheusText } from '../../core/metrics.rules.ts';
import type { Step, Trace } from '../journal/trace.rules.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import { countExport, countTick, tickCountsIn, type TickFacts, tickMetrics } from './metrics.rules.ts';

const sha = 'a'.repeat(64);
const trace: Trace = {
  ...{ schema: 1, tick: 't', version: '0.3.0', env: 'eu-1', intent: 'tick', started_at: '2026-11-26T08:00:00.000Z' },
  ...{ ms: 1500, ending: 'converged', exit: 0, codes: [], steps: [], decisions: [] },
};
const inSync: State = {
  ...emptyState('eu-1'),
  applied_sha: sha,
  applied_at: '2026-11-26T07:00:00.000Z',
  last_check_in: { at: '2026-11-26T08:00:00.500Z', action: 'apply', desired_sha: sha },
};
const endedAt = new Date('2026-11-26T08:00:01.500Z');
const none = tickCountsIn('');

function linesOf(facts: Partial<TickFacts>, counts = none): string[] {
  const families = tickMetrics(
    {
      trace,
      state: inSync,
      isStale: false,
      deferring: {},
      containers: [],
      sendsTraces: false,
      identityEnd: null,
      freeBytes: {},
      ...facts,
    },
    counts,
  );
  return formatPrometheusText(families).split('\n');
}

const container = (state: string, health: string | null): ReportedContainer => ({
  ...{ service: 'web', name: 'web-1', exit_code: null },
  ...{ state, health },
});
const step = (machine: string, state: string, ms: number): Step => ({ machine, state, on: 'x', at_ms: 0, ms });
const failing = { sha, count: 1, retry_at: '2026-11-26T09:00:00.000Z', line: 'failed: x' };

describe('the metrics after a tick (spec §20.3)', () => {
  it.each<[string, Partial<TickFacts>, string[]]>([
    ['the version', {}, ['deployd_build_info{version="0.3.0"} 1']],
    ['the duration', {}, ['deployd_tick_duration_seconds 1.5']],
    [
      'the end of the mesh identity',
      { identityEnd: new Date('2026-11-30') },
      ['deployd_mesh_identity_expiry_timestamp_seconds 1795996800'],
    ],
    ['a host in sync', {}, ['deployd_in_sync 1', 'deployd_failing 0']],
    ['one whose last check-in is old', { isStale: true }, ['deployd_in_sync 0', 'deployd_failing 0']],
    ['one that never checked in', { state: emptyState('eu-1') }, ['deployd_in_sync 0', 'deployd_failing 0']],
    ['one whose bundle fails', { state: { ...inSync, failing } }, ['deployd_in_sync 0', 'deployd_failing 1']],
    [
      'times in seconds',
      { state: { ...inSync, token: { ...inSync.token, expires_at: '2026-11-27T08:00:00.000Z' } } },
      [
        'deployd_last_check_in_timestamp_seconds 1795680000.5',
        'deployd_applied_timestamp_seconds 1795676400',
        'deployd_token_expiry_timestamp_seconds 1795766400',
      ],
    ],
    ['a host that waits for nothing', {}, ['deployd_held 0', 'deployd_window_closed 0']],
    [
      'one that is held while its windows are closed',
      {
        deferring: { hold: { until: '2026-11-26T09:00:00.000Z', reason: 'x' }, window_opens_at: endedAt.toISOString() },
      },
      ['deployd_held 1', 'deployd_window_closed 1', 'deployd_hold_end_timestamp_seconds 1795683600'],
    ],
    [
      'since when it is offline',
      { state: { ...inSync, offline_since: '2026-11-26T08:00:00.000Z' } },
      ['deployd_offline_since_timestamp_seconds 1795680000'],
    ],
    ['reports that wait', {}, ['deployd_pending_reports 0']],
    [
      'containers by state',
      { containers: [container('running', 'healthy'), container('running', 'healthy'), container('exited', null)] },
      ['deployd_containers{state="running",health="healthy"} 2', 'deployd_containers{state="exited",health="none"} 1'],
    ],
    ['free space', { freeBytes: { '/a': 7, '/b': null } }, ['deployd_disk_free_bytes{path="/a"} 7']],
    [
      'the time in each state, also of one that was entered again',
      {
        trace: {
          ...trace,
          steps: [step('tick', 'deciding', 1), step('apply', 'pulling', 20), step('tick', 'deciding', 2)],
        },
      },
      [
        'deployd_step_duration_seconds{machine="tick",state="deciding"} 0.003',
        'deployd_step_duration_seconds{machine="apply",state="pulling"} 0.02',
      ],
    ],
  ])('contain %s', (_, facts, lines) => {
    expect(linesOf(facts)).toEqual(expect.arrayContaining(lines));
  });

  it.each<[string, Partial<TickFacts>, string]>([
    ['of a state that could not be read', { state: null }, 'deployd_in_sync'],
    ['of a hold that could not be read', { deferring: null }, 'deployd_held'],
    ['of being offline while it is not', { state: { ...inSync, offline_since: null } }, 'deployd_offline'],
    ['of traces where none are sent', {}, 'deployd_trace_exports'],
    ['of containers that were not looked at', { containers: null }, 'deployd_containers'],
    ['of a token whose end is unknown', {}, 'deployd_token_expiry'],
    ['of a filesystem that cannot be asked', { freeBytes: { '/b': null } }, 'deployd_disk_free_bytes{'],
  ])('contain no %s', (_, facts, name) => {
    expect(linesOf(facts).filter((line) => line.includes(name) && !line.startsWith('#'))).toEqual([]);
  });

  it('have a series for every ending and every refusal code from the start, and no further one later', () => {
    const names = ['deployd_ticks_total', 'deployd_refusals_total'];
    const seriesIn = (lines: string[]) =>
      lines.filter((line) => names.some((name) => line.startsWith(`${name}{`))).length;
    const expected = endingNames.length + Object.keys(refusals).length;
    const odd = countTick(none, { ending: 'refused', codes: ['ODD', 'BUNDLE_UNSAFE'] }, endedAt);
    expect([seriesIn(linesOf({})), seriesIn(linesOf({}, odd))]).toEqual([expected, expected]);
  });
});

describe('the counts', () => {
  it('continue from the file of the previous tick', () => {
    let text = '';
    for (const [ending, codes] of [
      ['refused', ['BUNDLE_UNSAFE', 'MANIFEST_INVALID']],
      ['refused', ['BUNDLE_UNSAFE']],
      ['failed', ['PULL_FAILED']],
      ['applied', []],
    ] as const)
      text = linesOf({}, countTick(tickCountsIn(text), { ending, codes: [...codes] }, endedAt)).join('\n');
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'deployd_ticks_total{outcome="refused"} 2',
        'deployd_ticks_total{outcome="failed"} 1',
        'deployd_ticks_total{outcome="applied"} 1',
        'deployd_ticks_total{outcome="converged"} 0',
        'deployd_refusals_total{code="BUNDLE_UNSAFE"} 2',
        'deployd_refusals_total{code="MANIFEST_INVALID"} 1',
        'deployd_refusals_total{code="BUNDLE_DIGEST"} 0',
        'deployd_last_tick_timestamp_seconds{outcome="refused"} 1795680001.5',
      ]),
    );
    expect(text).not.toContain('deployd_last_tick_timestamp_seconds{outcome="converged"}');
    expect(text).not.toContain('PULL_FAILED');
  });

  it('count the results of trace exports, from tick to tick', () => {
    let text = '';
    for (const result of ['exported', 'failed', 'exported'] as const)
      text = linesOf({ sendsTraces: true }, countExport(tickCountsIn(text), result)).join('\n');
    expect(text.match(/^deployd_trace_exports_total.*$/gm)).toEqual([
      'deployd_trace_exports_total{result="exported"} 2',
      'deployd_trace_exports_total{result="failed"} 1',
      'deployd_trace_exports_total{result="skipped"} 0',
    ]);
  });

  it.each([
    'deployd_ticks_total{outcome="other"} 5',
    'deployd_ticks_total{outcome="applied"} -5',
    'deployd_ticks_total{outcome="applied"} 5e300',
    'deployd_ticks_total{outcome="applied"} 1234567890123456',
    'x_deployd_ticks_total{outcome="applied"} 5',
    'deployd_ticks_total{outcome="__proto__"} 5',
    'deployd_refusals_total{code="applied"} 5',
    '\0'.repeat(1000),
  ])('start again if the file contains %j', (line) => {
    expect(tickCountsIn(`${line}\n`)).toEqual(none);
  });
});
