import { hostname } from 'node:os';
import { readAuthorities } from '../../core/certificateAuthorities.ts';
import { createSendSpans } from '../../core/sendSpans.ts';
import type { Trace } from '../journal/trace.rules.ts';
import type { ExportResult } from './metrics.rules.ts';
import { tickSpans } from './tickSpans.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Journal } from '../journal/journal.ts';

/** Dependencies of an export of traces. */
interface TraceExportDependencies {
  readonly settings: Settings;
  readonly version: string;
  readonly journal: Journal;
}

/** Sends the trace of a tick to the collector, in bounded time; never throws. */
export type ExportTrace = (trace: Trace) => Promise<ExportResult>;

/**
 * Sends traces to the configured collector (spec §21); null when its authorities cannot be read. It sends one trace at
 * a time, so that a slow collector causes no backlog; traces that are not sent are only logged.
 */
export function createTraceExport(
  { settings, version, journal }: TraceExportDependencies,
  endpoint: string,
): ExportTrace | null {
  const { env, site, traces } = settings;
  const attributes = { 'host.name': hostname(), 'deployd.env': env, 'deployd.site': site };
  const warn = (reason: string) => journal.warn(`no trace of this tick at ${endpoint}: ${reason}`);
  try {
    const collector = { endpoint, readAuthorities: () => readAuthorities(traces.ca) };
    const send = createSendSpans(collector, { program: 'deployd', version, attributes });
    let isSending = false;
    return async (trace) => {
      if (isSending) {
        warn('the one before is still on its way');
        return 'skipped';
      }
      isSending = true;
      const reason = await send(tickSpans(trace)).finally(() => (isSending = false));
      if (reason === null) return 'exported';
      warn(reason);
      return 'failed';
    };
  } catch (error) {
    warn((error as Error).message);
    return null;
  }
}
