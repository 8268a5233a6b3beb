import { bootTimeNow } from '../../core/clock.ts';
import { filesystemsOf } from '../../core/filesystems.ts';
import { formatPrometheusText } from '../../core/metrics.rules.ts';
import { listenForMetrics, type MetricsListener } from '../adapters/host/metricsListener.ts';
import { openMetricsFile } from '../adapters/state/metricsFile.ts';
import { namedEnvOf } from '../config/namedEnvs.ts';
import type { Settings } from '../config/settings.ts';
import { staleCheckIn } from '../rules/schedule/checkInAge.ts';
import { deferringFactsOf } from '../rules/schedule/deferral.ts';
import { countExport, countTick, type ExportResult, tickCountsIn } from '../rules/metrics/tickCounts.ts';
import { labelledBy, type TickFacts, tickMetrics } from '../rules/metrics/tickMetrics.ts';
import type { Trace } from '../rules/trace/trace.ts';
import type { Dependencies } from '../services/dependencies.ts';

/** Where the metrics of the ticks of one process go. */
export interface MetricsOutput {
  /** Tells the metrics after a tick; what fails is only logged. */
  publish: (trace: Trace, exported: ExportResult | null) => Promise<void>;
  close: () => Promise<void>;
}

/** Opens the metrics file of the configuration, and the listener if one is wanted; one that cannot be had is only logged. */
export async function openMetricsOutput(deps: Dependencies, listen: string | null): Promise<MetricsOutput> {
  const { config_file, metrics } = deps.settings;
  const [textfile, env] = [metrics.textfile, namedEnvOf(config_file)];
  const file = textfile === null ? null : openMetricsFile(textfile);
  let text = '';
  const listener = listen === null ? null : await tryToListen(deps, listen, () => text);
  const publish = async (trace: Trace, exported: ExportResult | null) => {
    const before = tickCountsIn((await file?.read()) || text);
    const counts = exported === null ? before : countExport(before, exported);
    const facts = await factsOf(deps, trace);
    text = formatPrometheusText(labelledBy(env, tickMetrics(facts, countTick(counts, trace, new Date()))));
    await file?.write(text);
  };
  return {
    publish: async (trace, exported) => {
      if (trace.ending === 'busy') return; // whoever holds the lock tells about the host
      await publish(trace, exported).catch((error: unknown) => {
        deps.journal.warn(`no metrics of this tick: ${messageOf(error)}`);
      });
    },
    close: async () => listener?.close(),
  };
}

async function tryToListen(
  { journal }: Dependencies,
  address: string,
  text: () => string,
): Promise<MetricsListener | null> {
  try {
    return await listenForMetrics(address, text);
  } catch (error) {
    journal.warn(`no metrics at ${address}: ${messageOf(error)}`);
    return null;
  }
}

async function factsOf({ settings, state, tick }: Dependencies, trace: Trace): Promise<TickFacts> {
  const { containers, hold } = tick;
  const { interval_s: intervalS, laptop_mode: laptop } = settings;
  const now = new Date();
  const filesystems = await filesystemsOf(pathsOf(settings));
  return {
    trace,
    state: state.isUnknown ? null : state.state,
    isStale: staleCheckIn(state.state, { now, bootTime: bootTimeNow(), intervalS, laptop }) !== null,
    deferring: hold === undefined ? null : deferringFactsOf({ hold, windows: settings.apply.windows }, now),
    containers,
    sendsTraces: settings.traces.otlp_endpoint !== null,
    freeBytes: Object.fromEntries(filesystems.map(({ paths, freeBytes }) => [paths[0] ?? '', freeBytes])),
  };
}

function pathsOf({ state_dir, disk }: Settings): string[] {
  return [state_dir, ...disk.paths];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^failed: /, '') : 'unknown reason';
}
