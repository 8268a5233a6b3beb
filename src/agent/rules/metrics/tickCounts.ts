import { endingNames, type Ending } from '../../../../machines/endings.ts';
import { refusals } from '../../../../machines/refusals.ts';
import type { Trace } from '../trace/trace.ts';

/** What became of the trace that a tick sends to a collector; `skipped` while an earlier one is on its way. */
export type ExportResult = (typeof exportResults)[number];
const exportResults = ['exported', 'failed', 'skipped'] as const;

/** What is counted over the ticks of a host; the metrics file is its memory between them (spec §20.3). */
export interface TickCounts {
  /** Ticks by ending; every ending has an entry, as every code has. */
  ticks: Readonly<Record<string, number>>;
  /** Refusals by code. */
  refusals: Readonly<Record<string, number>>;
  /** Traces by what became of their export. */
  exports: Readonly<Record<string, number>>;
  /** When a tick last ended so, in seconds since 1970; endings that never were have no entry. */
  lastTicks: Readonly<Record<string, number>>;
}

/** The names in the metrics, which are read back from there. */
export const countNames = {
  ticks: 'deployd_ticks_total',
  refusals: 'deployd_refusals_total',
  exports: 'deployd_trace_exports_total',
  lastTicks: 'deployd_last_tick_timestamp_seconds',
} as const;

const refusalCodes = Object.keys(refusals);

/** What an earlier metrics file counted; text that is no count of a known name is passed over. */
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
