import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent, toPromise } from 'xstate';
import { commandEndings, endings } from '../../../machines/endings.ts';
import { loop } from '../../../machines/loop.ts';
import { outcomeOf } from '../../../machines/outcomes.ts';
import type { RunOptions } from '../../../machines/types.ts';
import { onStopSignal } from '../../core/process.ts';
import type { Settings } from '../config/settings.ts';
import { createJournal, type Journal } from '../journal/journal.ts';
import { LiveLine } from '../journal/liveLine.ts';
import { jitterS, tickIntervalS } from '../rules/schedule/checkInBackoff.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { version } from '../../core/commandLine.ts';
import { createAgent } from '../createAgent.ts';
import type { MetricsOutput } from './metricsOutput.ts';
import { showProgress } from './progressLine.ts';
import type { ExportTrace } from './traceExport.ts';
import { type TraceReaders, traceTicks } from './tickTracer.ts';
import { inspectorOf, type MachineObserver } from './machineObserver.ts';

/** The options that the command line sets; `laptopMode` comes from the configuration. */
type RequestedRun = Omit<RunOptions, 'laptopMode'>;

/**
 * Runs one tick (spec §2.1) and returns the exit code of its ending. On a terminal it shows the progress. When systemd's timer
 * started it and the check-in was overdue, it delays its exit by jitter, since the timer counts from there (spec §10.4).
 */
export async function runOnce(settings: Settings, vault: Vault, requested: RequestedRun): Promise<number> {
  const showsProgress = process.stderr.isTTY && ['auto', 'pretty'].includes(settings.log.format);
  const live = showsProgress ? new LiveLine(process.stderr) : null;
  const unattended = process.env['TRIGGER_UNIT']?.endsWith('.timer') ?? false;
  const run = { settings, vault, requested, live, unattended, listen: null };
  return withAgent(run, async ({ machine, deps, inspect }) => {
    const input = { ...requested, laptopMode: settings.laptop_mode };
    const actor = createActor(machine, { input, inspect });
    const output = toPromise(actor);
    const stop = new AbortController();
    onStopSignal(() => {
      actor.send({ type: 'STOP' });
      stop.abort();
    });
    actor.start();
    const { ending } = await output;
    if (deps.tick.wasOverdue) await delayExit(deps, stop.signal);
    return endings[ending].meta.exit;
  });
}

/**
 * Runs the loop: tick, then wait `interval_s` plus up to 10 s of jitter, until SIGTERM or a token of another env (spec §2.2).
 * The first wait, and one after an overdue check-in, has additional jitter, since other hosts may have started at the same
 * time (spec §10.4).
 */
export async function runLoop(settings: Settings, vault: Vault, requested: RequestedRun): Promise<number> {
  const run = { settings, vault, requested, live: null, unattended: true, listen: settings.metrics.listen };
  return withAgent(run, async ({ machine, deps, inspect }) => {
    const input = { ...requested, laptopMode: settings.laptop_mode };
    let isFirst = true;
    const interval = () => {
      const extraS = isFirst || deps.tick.wasOverdue ? jitterS(settings.interval_s, Math.random()) : 0;
      isFirst = false;
      return (tickIntervalS(settings.interval_s, Math.random()) + extraS) * 1000;
    };
    const machineLoop = loop.provide({ actors: { tick: machine }, delays: { interval } });
    const actor = createActor(machineLoop, { input, inspect });
    const output = toPromise(actor);
    onStopSignal(() => actor.send({ type: 'STOP' }));
    actor.start();
    return { ...endings, ...commandEndings }[(await output).ending].meta.exit;
  });
}

interface MachineRun {
  settings: Settings;
  vault: Vault;
  requested: RequestedRun;
  /** Null when no progress is shown. */
  live: LiveLine | null;
  /** True for ticks of the loop or the timer, which no operator waits for. */
  unattended: boolean;
  /** Where the metrics are shown; null: nowhere. */
  listen: string | null;
}

type RunMachine = (agent: {
  machine: Awaited<ReturnType<typeof createAgent>>['machine'];
  deps: Dependencies;
  inspect: (event: InspectionEvent) => void;
}) => Promise<number>;

/** Opens the journal, creates the agent and runs its machine; an error before the first tick is logged like a fault of a tick. */
async function withAgent(run: MachineRun, runMachine: RunMachine): Promise<number> {
  const { settings, vault, requested, live, unattended, listen } = run;
  const { format, level } = settings.log;
  const { isTTY: isTerminal } = process.stderr;
  const redact = () => vault.redactor();
  const journal = createJournal({ format, level, redact, stderr: process.stderr, isTerminal, live });
  let metrics: MetricsOutput | null = null;
  try {
    const { machine, deps } = await createAgent({ settings, vault, journal, version, unattended });
    metrics = await openMetrics(deps, listen);
    const exportTrace = await openTraceExport(deps);
    const publish: TraceReaders['publish'] = async (trace, exported) => metrics?.publish(trace, exported);
    const traces = traceTicks(deps, requested.intent, { exportTrace, publish });
    const observers = [transitionLogger(journal), traces, ...(live ? [showProgress(deps, live)] : [])];
    const exit = await runMachine({ machine, deps, inspect: inspectorOf(observers) });
    await traces.flush();
    return exit;
  } catch (error) {
    const { ending, lines } = outcomeOf(error, settings.laptop_mode);
    for (const line of lines) journal.error(line);
    return endings[ending].meta.exit;
  } finally {
    await metrics?.close();
    live?.close();
    await journal.flush();
  }
}

/** Loads what metrics need only where they are wanted. */
async function openMetrics(deps: Dependencies, listen: string | null): Promise<MetricsOutput | null> {
  if (listen === null && deps.settings.metrics.textfile === null) return null;
  return (await import('./metricsOutput.ts')).openMetricsOutput(deps, listen);
}

/** Loads what sending traces needs only where they are wanted. */
async function openTraceExport(deps: Dependencies): Promise<ExportTrace | null> {
  const { otlp_endpoint: endpoint } = deps.settings.traces;
  if (endpoint === null) return null;
  return (await import('./traceExport.ts')).createTraceExport(deps, endpoint);
}

/** Waits for the jitter by which the next tick is delayed; the signal ends the wait. */
async function delayExit({ settings, journal }: Dependencies, signal: AbortSignal): Promise<void> {
  const delayS = jitterS(settings.interval_s, Math.random());
  journal.debug('back after an absence: ends late, so that the next tick comes later', { seconds: Math.round(delayS) });
  await sleep(delayS * 1000, undefined, { signal }).catch(() => undefined);
}

/** Logs every transition at debug level. */
function transitionLogger(journal: Journal): MachineObserver {
  return {
    transitioned: ({ actor, state, on, first }) => {
      if (!first) journal.debug(`state: ${actor} ${JSON.stringify(state)}`, { on });
    },
  };
}
