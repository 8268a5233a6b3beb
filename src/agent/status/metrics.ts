import { once } from 'node:events';
import { unlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { bootTimeNow } from '../../core/clock.ts';
import { filesystemsOf } from '../../core/files.ts';
import { formatPrometheusText, prometheusTextType } from '../../core/metrics.rules.ts';
import { deferringFactsOf } from '../checkIn/desiredState.rules.ts';
import { namedEnvOf } from '../config/namedEnvs.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Trace } from '../journal/trace.rules.ts';
import { removeStaleTemporaries, writeWithoutSync } from '../state/durableFiles.ts';
import { readTextIfExists, statIfExists } from '../state/fileSystem.ts';
import {
  countExport,
  countTick,
  type ExportResult,
  labelledBy,
  tickCountsIn,
  type TickFacts,
  tickMetrics,
} from './metrics.rules.ts';
import { identityLifeOf } from '../transport/transport.ts';
import type { Journal } from '../journal/journal.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { TickResult } from '../../../machines/types.ts';
import { staleCheckIn } from '../checkIn/checkInAge.rules.ts';

/** The input of the metrics of a tick. */
export interface MetricsDependencies {
  readonly settings: Settings;
  readonly journal: Journal;
  readonly state: StateStore;
}

/** A tick that has ended. */
export interface PublishedTick extends Pick<TickResult, 'hold' | 'containers'> {
  trace: Trace;
  /** Null if traces are not exported. */
  exported: ExportResult | null;
}

/** Receiver of the metrics of one process. */
export interface MetricsOutput {
  /** Updates the metrics after a tick; errors are only logged. */
  publish: (ended: PublishedTick) => Promise<void>;
  close: () => Promise<void>;
}

/** Opens the configured metrics file and listener; a listener that cannot be opened is only logged. */
export async function openMetricsOutput(deps: MetricsDependencies, listen: string | null): Promise<MetricsOutput> {
  const { config_file, metrics } = deps.settings;
  const [textfile, env] = [metrics.textfile, namedEnvOf(config_file)];
  const file = textfile === null ? null : openMetricsFile(textfile);
  let text = '';
  const listener = listen === null ? null : await tryToListen(deps, listen, () => text);
  const publish = async (ended: PublishedTick) => {
    const { trace, exported } = ended;
    const before = tickCountsIn((await file?.read()) || text);
    const counts = exported === null ? before : countExport(before, exported);
    const facts = await factsOf(deps, ended);
    text = formatPrometheusText(labelledBy(env, tickMetrics(facts, countTick(counts, trace, new Date()))));
    await file?.write(text);
  };
  return {
    publish: async (ended) => {
      if (ended.trace.ending === 'busy') return; // the process that holds the lock publishes the metrics of the host
      await publish(ended).catch((error: unknown) => {
        deps.journal.warn(`no metrics of this tick: ${messageOf(error)}`);
      });
    },
    close: async () => listener?.close(),
  };
}

async function tryToListen(
  { journal }: MetricsDependencies,
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

async function factsOf(
  { settings, state }: MetricsDependencies,
  { trace, hold, containers }: PublishedTick,
): Promise<TickFacts> {
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
    identityEnd: (await identityLifeOf(settings))?.until ?? null,
    freeBytes: Object.fromEntries(filesystems.map(({ paths, freeBytes }) => [paths[0] ?? '', freeBytes])),
  };
}

function pathsOf({ state_dir, disk }: Settings): string[] {
  return [state_dir, ...disk.paths];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^failed: /, '') : 'unknown reason';
}

/** The metrics file that a textfile collector reads (spec §20.1). */
export interface MetricsFile {
  /** Its text; empty if there is no file. Throws a fault of the disk. */
  read: () => Promise<string>;
  /** Replaces it, readable by everybody, without sync. Throws `DISK_WRITE_FAILED`. */
  write: (text: string) => Promise<void>;
}

/** Opens the metrics file at a path, whose directory must exist. */
export function openMetricsFile(path: string): MetricsFile {
  return {
    read: async () => (await readTextIfExists(path)) ?? '',
    write: async (text) => {
      await writeWithoutSync(path, text, 0o644);
      await removeStaleTemporaries(dirname(path));
    },
  };
}

/** A listener that serves metrics. */
export interface MetricsListener {
  close: () => Promise<void>;
}

/**
 * Answers `GET /metrics` with the current text (spec §20.2), at `http://127.0.0.1:PORT`, `http://[::1]:PORT` or
 * `unix:///PATH`; it replaces only a socket that an earlier process left. Throws the error of the system.
 */
export async function listenForMetrics(address: string, text: () => string): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end('the metrics are at /metrics\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': prometheusTextType }).end(text());
  });
  server.requestTimeout = 10_000;
  const place = placeOf(address);
  if ('path' in place && (await statIfExists(place.path))?.isSocket()) await unlink(place.path);
  server.listen(place);
  await once(server, 'listening');
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** An address in the form that the system requires. */
function placeOf(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith('unix://')) return { path: address.slice('unix://'.length) };
  const [host = '', port] = address.slice('http://'.length).split(/:(?=\d+$)/);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
