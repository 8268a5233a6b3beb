import { setTimeout as sleep } from 'node:timers/promises';
import { type AnyStateMachine, createActor, type InspectionEvent, toPromise } from 'xstate';
import { commandEndings, endings } from '../../machines/endings.ts';
import { loop } from '../../machines/loop.ts';
import { outcomeOf } from '../../machines/fault.ts';
import type { Outcome, RunOptions, TickResult } from '../../machines/types.ts';
import { monotonicMs } from '../core/clock.ts';
import { version } from '../core/commandLine.ts';
import { onStopSignal } from '../core/process.ts';
import { jitterS, tickIntervalS } from './checkIn/backoff.rules.ts';
import type { Settings } from './config/configKeys.ts';
import { type AgentParts, createAgent } from './createAgent.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { codesOf, saidBy, type Trace } from './journal/trace.rules.ts';
import type { Vault } from './secrets/vault.ts';
import { addToHistory, readHistory } from './state/stateFile.ts';
import { isUneventful, matters, tickEntryOf } from './status/history.rules.ts';
import type { MetricsOutput, PublishedTick } from './status/metrics.ts';
import { openTraces } from './status/trace.ts';
import type { ExportTrace } from './status/traceExport.ts';
import { formatProgress, LiveLine, type Progress } from './journal/terminal.ts';

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
    const { ending, wasOverdue } = await output;
    if (wasOverdue) await delayExit(deps, stop.signal);
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
  return withAgent(run, async ({ machine, inspect }) => {
    const input = { ...requested, laptopMode: settings.laptop_mode };
    let isFirst = true;
    const interval = ({ context }: { context: { wasOverdue: boolean } }) => {
      const extraS = isFirst || context.wasOverdue ? jitterS(settings.interval_s, Math.random()) : 0;
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
  /** Where the metrics are published; null for nowhere. */
  listen: string | null;
}

type RunMachine = (agent: {
  machine: Awaited<ReturnType<typeof createAgent>>['machine'];
  deps: AgentParts;
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
    const publish: TraceReaders['publish'] = async (ended) => metrics?.publish(ended);
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

/** Loads the modules for metrics only if they are configured. */
async function openMetrics(deps: AgentParts, listen: string | null): Promise<MetricsOutput | null> {
  if (listen === null && deps.settings.metrics.textfile === null) return null;
  return (await import('./status/metrics.ts')).openMetricsOutput(deps, listen);
}

/** Loads the modules for sending traces only if it is configured. */
async function openTraceExport(deps: AgentParts): Promise<ExportTrace | null> {
  const { otlp_endpoint: endpoint } = deps.settings.traces;
  if (endpoint === null) return null;
  return (await import('./status/traceExport.ts')).createTraceExport(deps, endpoint);
}

/** Waits for the jitter by which the next tick is delayed; the signal ends the wait. */
async function delayExit({ settings, journal }: AgentParts, signal: AbortSignal): Promise<void> {
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

/** Observes running machines: names of states and types of events, never their payload. */
interface MachineObserver {
  /** A tick has started. */
  tickStarted?: () => void;
  /** A machine took a transition. */
  transitioned?: (transition: Transition) => void;
  /** A machine has ended. */
  machineEnded?: (machine: string) => void;
  /** A tick has ended; the result is null after a bug. */
  tickEnded?: (result: TickResult | null) => void;
}

/** A transition into `state`; `first` for the initial state of a machine. `actor` is the id of the running machine. */
interface Transition {
  machine: string;
  actor: string;
  state: string;
  on: string;
  first: boolean;
}

/** Snapshot of a machine; the snapshot of a promise has no `machine`. */
interface MachineSnapshot {
  machine: AnyStateMachine;
  value: string;
  status: 'active' | 'done' | 'error' | 'stopped';
  output: TickResult;
}

/** The `inspect` callback of an actor that notifies the observers. */
function inspectorOf(observers: readonly MachineObserver[]): (event: InspectionEvent) => void {
  return (event) => {
    if (event.type !== '@xstate.microstep' && event.type !== '@xstate.snapshot') return;
    const { machine, value, status, output } = event.snapshot as Partial<MachineSnapshot>;
    if (machine === undefined) return;
    const isTick = machine.id === 'tick';
    const isStep = event.type === '@xstate.microstep';
    const first = !isStep && event.event.type === 'xstate.init';
    const transition = {
      machine: machine.id,
      actor: actorIdOf(event.actorRef),
      state: String(value),
      on: event.event.type,
      first,
    };
    const isOver = !isStep && status !== 'active';
    for (const observer of observers) {
      if (first && isTick) observer.tickStarted?.();
      if (first || isStep) observer.transitioned?.(transition);
      if (isOver) observer.machineEnded?.(machine.id);
      if (isOver && isTick) observer.tickEnded?.(output ?? null);
    }
  };
}

function actorIdOf(actor: InspectionEvent['actorRef']): string {
  return 'id' in actor ? String(actor.id) : '';
}

/** Milliseconds between two progress queries. */
const POLL_MS = 200;

/** An observer that shows the current state of the tick, and the progress of long steps, on one line of the terminal. */
function showProgress(deps: AgentParts, live: LiveLine): MachineObserver {
  const current = new Map<string, { state: string; since: number }>();
  let isPolling = false;
  const draw = (progress: Progress | null) => {
    const [machine, { state, since }] = [...current].at(-1) ?? ['', { state: '', since: 0 }];
    if (machine !== '') live.show(formatProgress(state, (monotonicMs() - since) / 1000, progress));
  };
  const poll = async () => {
    if (isPolling) return;
    isPolling = true;
    const read = deps.tick.journal.progress;
    const progress = await Promise.resolve(read?.() ?? null).catch(() => null);
    isPolling = false;
    draw(read === deps.tick.journal.progress ? progress : null);
  };
  const timer = setInterval(() => void poll(), POLL_MS).unref();
  return {
    transitioned: ({ machine, state }) => {
      current.delete(machine);
      current.set(machine, { state, since: monotonicMs() });
      draw(null);
    },
    machineEnded: (machine) => void current.delete(machine),
    tickEnded: () => {
      clearInterval(timer);
      live.close();
    },
  };
}

/** Receivers of the trace of a tick that has ended. */
interface TraceReaders {
  /** Sends it to the configured collector; null without one. Never throws. */
  exportTrace: ExportTrace | null;
  /** Updates the metrics after the result of the export is known; null without metrics. */
  publish: (ended: PublishedTick) => Promise<void>;
}

/**
 * An observer that saves a trace of every tick, adds important ones to the history, then passes it to its receivers; a
 * failed write is only logged. `flush` waits for all.
 */
function traceTicks(
  deps: AgentParts,
  intent: RunOptions['intent'],
  { exportTrace, publish }: TraceReaders,
): MachineObserver & { flush: () => Promise<void> } {
  const { journal, recorder, settings } = deps;
  const traces = openTraces(settings.state_dir);
  let pendingWrites = Promise.resolve();
  return {
    tickStarted: () => recorder.start(),
    transitioned: (transition) => recorder.enter(transition),
    machineEnded: (machine) => recorder.leave(machine),
    tickEnded: (result) => {
      const trace = traceOf(deps, { intent, outcome: result });
      const exported = exportTrace?.(trace) ?? null;
      const addToHistory = historyOf(deps, { trace, outcome: result });
      const logFault = (what: string) => (error: unknown) => {
        journal.debug(`no ${what} of this tick: ${messageOf(error)}`);
      };
      pendingWrites = pendingWrites
        .then(() => traces.save(trace))
        .catch(logFault('trace'))
        .then((previous) => addToHistory(previous?.quiet ?? false))
        .catch(logFault('history'))
        .then(async () => publish({ trace, ...seenIn(result), exported: await exported }));
    },
    flush: () => pendingWrites,
  };
}

function seenIn(result: TickResult | null): Pick<PublishedTick, 'hold' | 'containers'> {
  return { hold: result?.hold, containers: result?.containers ?? null };
}

function traceOf(
  { recorder, settings, tick, version }: AgentParts,
  { intent, outcome }: { intent: RunOptions['intent']; outcome: Outcome | null },
): Trace {
  const { startedAt, ms, steps, decisions } = recorder.recording();
  const ending = outcome?.ending ?? 'failed';
  return {
    schema: 1,
    tick: tick.id,
    version,
    env: settings.env,
    intent,
    started_at: startedAt.toISOString(),
    ms,
    ending,
    exit: endings[ending].meta.exit,
    codes: outcome === null ? ['INTERNAL'] : codesOf(outcome),
    ...(outcome !== null && endings[ending].meta.exit !== 0 && { said: saidBy(outcome) }),
    steps,
    decisions,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason';
}

/**
 * Adds an ended tick to the history if it matters. The parameter says whether the previous tick was quiet; another
 * quiet tick then costs nothing. Throws a fault of the disk.
 */
export function historyOf(
  { settings, state }: AgentParts,
  { trace, outcome }: { trace: Trace; outcome: Outcome | null },
): (wasQuiet: boolean) => Promise<void> {
  const entry = tickEntryOf(trace, { outcome, version: state.state.applied_version });
  return async (wasQuiet) => {
    if (isUneventful(trace, wasQuiet)) return;
    if (matters(entry, await readHistory(settings.state_dir))) await addToHistory(settings.state_dir, entry);
  };
}
