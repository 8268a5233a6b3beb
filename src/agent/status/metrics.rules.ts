import { type Ending, endingNames } from '../../../machines/endings.ts';
import { refusals } from '../../../machines/refusals.ts';
import type { ReportedContainer } from '../../../machines/types.ts';
import type { DeferringFacts } from '../../api/checkIn.rules.ts';
import { counter, gauge, info, type MetricFamily, type Sample, samplesBy } from '../../core/metrics.rules.ts';
import type { Trace } from '../journal/trace.rules.ts';
import type { State } from '../state/state.rules.ts';
import { outOfSyncReason } from './status.rules.ts';

/** The results of a tick. */
export interface TickFacts {
  trace: Trace;
  /** Null when the tick could not read it. */
  state: Readonly<State> | null;
  /** The deferral of work; null when the tick could not read it. */
  deferring: DeferringFacts | null;
  /** True when the last check-in is not recent. */
  isStale: boolean;
  /** As last observed by the tick; null without an observation. */
  containers: readonly ReportedContainer[] | null;
  /** Whether the ticks of this host are sent to a collector. */
  sendsTraces: boolean;
  /** End of the certificate of the mesh identity; null without one. */
  identityEnd: Date | null;
  /** Free space in bytes by path, one path for each filesystem; null where it is unknown. */
  freeBytes: Readonly<Record<string, number | null>>;
}

/**
 * The metrics of a host after a tick (spec §20): times in seconds, sizes in bytes. Labels come from closed sets (endings,
 * states, codes) or from the configuration (paths), so that their number is bounded.
 */
export function tickMetrics(facts: TickFacts, counts: TickCounts): MetricFamily[] {
  const { trace, state, isStale, deferring, containers, sendsTraces, identityEnd, freeBytes } = facts;
  return [
    info('deployd_build', 'Version of the agent.', { version: trace.version }),
    counter('deployd_ticks', 'Ticks by how they ended.', samplesBy('outcome', counts.ticks)),
    counter('deployd_refusals', 'Refusals by code.', samplesBy('code', counts.refusals)),
    gauge(
      'deployd_last_tick_timestamp_seconds',
      'Time of the last tick with this outcome.',
      samplesBy('outcome', counts.lastTicks),
    ),
    gauge('deployd_tick_duration_seconds', 'How long the last tick took.', [{ value: trace.ms / 1000 }]),
    gauge('deployd_step_duration_seconds', 'How long each state of the last tick took.', stepSamples(trace)),
    ...(sendsTraces ? [exportMetric(counts)] : []),
    ...(state === null ? [] : stateMetrics(state, isStale)),
    ...(deferring === null ? [] : deferringMetrics(deferring)),
    ...(containers === null
      ? []
      : [gauge('deployd_containers', 'Containers of the project.', containerSamples(containers))]),
    ...timestamp(
      'deployd_mesh_identity_expiry_timestamp_seconds',
      'When the certificate of the mesh identity ends.',
      identityEnd?.toISOString(),
    ),
    gauge('deployd_disk_free_bytes', 'Free space of each filesystem that is used.', diskSamples(freeBytes)),
  ];
}

function exportMetric({ exports }: TickCounts): MetricFamily {
  return counter('deployd_trace_exports', 'Exports of traces, by result.', samplesBy('result', exports));
}

/** The metrics of a named environment, which shares the engine's host with others (spec §22.4). */
export function labelledBy(namedEnv: string | null, families: readonly MetricFamily[]): readonly MetricFamily[] {
  if (namedEnv === null) return families;
  const labelled = (sample: Sample) => ({ ...sample, labels: { ...sample.labels, env: namedEnv } });
  return families.map((family) => ({ ...family, samples: family.samples.map(labelled) }));
}

function stateMetrics(state: Readonly<State>, isStale: boolean): MetricFamily[] {
  const inSync = Number(!isStale && outOfSyncReason(state) === null);
  return [
    gauge('deployd_in_sync', '1 when the host runs the desired bundle and all its services are healthy.', [
      { value: inSync },
    ]),
    gauge('deployd_failing', '1 while the desired bundle has failed.', [{ value: Number(state.failing !== null) }]),
    gauge('deployd_pending_reports', 'Reports not delivered yet.', [{ value: state.pending_reports.length }]),
    ...timestamp('deployd_last_check_in_timestamp_seconds', 'Last check-in.', state.last_check_in?.at),
    ...timestamp('deployd_offline_since_timestamp_seconds', 'Since when no check-in succeeds.', state.offline_since),
    ...timestamp('deployd_applied_timestamp_seconds', 'When the release was applied.', state.applied_at),
    ...timestamp('deployd_token_expiry_timestamp_seconds', 'When the token ends.', state.token.expires_at),
  ];
}

function deferringMetrics({ hold, window_opens_at }: DeferringFacts): MetricFamily[] {
  const isClosed = window_opens_at !== undefined;
  return [
    gauge('deployd_held', '1 while an operator holds the host.', [{ value: Number(hold !== undefined) }]),
    gauge('deployd_window_closed', '1 while all windows are closed.', [{ value: Number(isClosed) }]),
    ...timestamp('deployd_hold_end_timestamp_seconds', 'When the hold ends by itself.', hold?.until),
  ];
}

/** A family for a time; none for a time that is unknown. */
function timestamp(name: string, help: string, at: string | null | undefined): MetricFamily[] {
  return typeof at === 'string' ? [gauge(name, help, [{ value: Date.parse(at) / 1000 }])] : [];
}

/** Seconds by state; a state that was entered several times counts as their sum. */
function stepSamples({ steps }: Trace): Sample[] {
  const byState = Object.groupBy(steps, ({ machine, state }) => `${machine} ${state}`);
  return Object.values(byState).map((entered = []) => {
    const [first] = entered;
    const ms = entered.reduce((sum, step) => sum + step.ms, 0);
    return { labels: { machine: first?.machine ?? '', state: first?.state ?? '' }, value: ms / 1000 };
  });
}

function containerSamples(containers: readonly ReportedContainer[]): Sample[] {
  const kinds = Object.groupBy(containers, ({ state, health }) => `${state} ${health ?? 'none'}`);
  return Object.entries(kinds).map(([kind, ones = []]) => {
    const [state = '', health = ''] = kind.split(' ');
    return { labels: { state, health }, value: ones.length };
  });
}

function diskSamples(freeBytes: TickFacts['freeBytes']): Sample[] {
  return Object.entries(freeBytes).flatMap(([path, value]) => (value === null ? [] : [{ labels: { path }, value }]));
}

/** The export result of a tick's trace to a collector; `skipped` while an earlier export is running. */
export type ExportResult = (typeof exportResults)[number];
const exportResults = ['exported', 'failed', 'skipped'] as const;

/** The counts over the ticks of a host; the metrics file stores them between ticks (spec §20.3). */
interface TickCounts {
  /** Ticks by ending; every ending has an entry, as every code has. */
  ticks: Readonly<Record<string, number>>;
  /** Refusals by code. */
  refusals: Readonly<Record<string, number>>;
  /** Traces by the result of their export. */
  exports: Readonly<Record<string, number>>;
  /** Time of the last tick with each ending, in seconds since 1970; other endings have no entry. */
  lastTicks: Readonly<Record<string, number>>;
}

/** The names in the metrics, which are read back from there. */
const countNames = {
  ticks: 'deployd_ticks_total',
  refusals: 'deployd_refusals_total',
  exports: 'deployd_trace_exports_total',
  lastTicks: 'deployd_last_tick_timestamp_seconds',
} as const;

const refusalCodes = Object.keys(refusals);

/** The counts in an earlier metrics file; text that is not a count of a known name is ignored. */
export function tickCountsIn(text: string): TickCounts {
  const readBack = (name: string, keys: readonly string[]): Record<string, number> =>
    Object.fromEntries(
      [...text.matchAll(/^(\w+)\{\w+="(\w+)"(?:,env="[a-z0-9-]+")?\} (\d{1,15}(?:\.\d{1,3})?)$/gm)]
        .filter(([, found, key = '']) => found === name && keys.includes(key))
        .map(([, , key = '', value]) => [key, Number(value)] as const),
    );
  return {
    ticks: { ...zerosFor(endingNames), ...readBack(countNames.ticks, endingNames) },
    refusals: { ...zerosFor(refusalCodes), ...readBack(countNames.refusals, refusalCodes) },
    exports: { ...zerosFor(exportResults), ...readBack(countNames.exports, exportResults) },
    lastTicks: readBack(countNames.lastTicks, endingNames),
  };
}

/** The counts with the export of one more trace. */
export function countExport(counts: TickCounts, result: ExportResult): TickCounts {
  return { ...counts, exports: increased(counts.exports, [result]) };
}

/** The counts with one more tick, which ended at `endedAt`. */
export function countTick(
  counts: TickCounts,
  { ending, codes }: Pick<Trace, 'ending' | 'codes'>,
  endedAt: Date,
): TickCounts {
  const refused = ending === 'refused' ? codes.filter((code) => refusalCodes.includes(code)) : [];
  return {
    ...counts,
    ticks: increased(counts.ticks, [ending]),
    refusals: increased(counts.refusals, refused),
    lastTicks: { ...counts.lastTicks, [ending satisfies Ending]: endedAt.getTime() / 1000 },
  };
}

function zerosFor(keys: readonly string[]): Record<string, number> {
  return Object.fromEntries(keys.map((key) => [key, 0]));
}

function increased(counts: TickCounts['ticks'], keys: readonly string[]): Record<string, number> {
  return { ...counts, ...Object.fromEntries(keys.map((key) => [key, (counts[key] ?? 0) + 1])) };
}
