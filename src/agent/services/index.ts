import { fromPromise } from 'xstate';
import type { ApplyServices, DownServices, TickServices } from '../../../machines/services.ts';
import { Fault, stopped } from '../../../machines/fault.ts';
import { clockMs } from '../journal/clock.ts';
import { bootstrap } from './token/bootstrap.ts';
import { checkIn } from './checkIn/checkIn.ts';
import { conclude } from './tick/conclude.ts';
import { deliverReports } from './checkIn/deliverReports.ts';
import { clearApplied, composeDown } from './tick/down.ts';
import { freeLock } from './tick/freeLock.ts';
import { heal } from './health/heal.ts';
import { keepToken } from './token/keepToken.ts';
import { mend } from './release/mend.ts';
import { probeHost } from './health/probeHost.ts';
import { prune } from './release/prune.ts';
import { recall } from './tick/recall.ts';
import { takeLock } from './tick/takeLock.ts';
import type { Tools } from './tools.ts';

type Service<TInput, TOutput> = (tools: Tools, input: TInput, signal: AbortSignal) => Promise<TOutput>;

type OfApply<TInput, TOutput> = (work: typeof import('./apply/index.ts')) => Service<TInput, TOutput>;

/**
 * Fills every seam of the machines; a missing or wrongly typed one does not compile. A service's signal fires when the
 * machine leaves its state, and at STOP.
 */
export function servicesOf(tools: Tools): { tick: TickServices; apply: ApplyServices; down: DownServices } {
  const fill = <TInput, TOutput>(name: string, service: Service<TInput, TOutput>) =>
    fromPromise<TOutput, TInput>(({ input, signal }) =>
      timed(tools, name, () => service(tools, input, either(signal))),
    );
  const late = <TInput, TOutput>(name: string, pick: OfApply<TInput, TOutput>) => fill(name, loading(pick));
  const either = (signal: AbortSignal) => AbortSignal.any([signal, tools.stop.signal]);
  return {
    tick: {
      takeLock: fill('takeLock', takeLock),
      recall: fill('recall', recall),
      bootstrap: fill('bootstrap', bootstrap),
      probeHost: fill('probeHost', probeHost),
      checkIn: fill('checkIn', checkIn),
      deliverReports: fill('deliverReports', deliverReports),
      heal: fill('heal', heal),
      mend: fill('mend', mend),
      conclude: fill('conclude', conclude),
      prune: fill('prune', prune),
      keepToken: fill('keepToken', keepToken),
      freeLock: fill('freeLock', freeLock),
    },
    apply: {
      download: late('download', (work) => work.download),
      unpack: late('unpack', (work) => work.unpack),
      check: late('check', (work) => work.check),
      readSecrets: late('readSecrets', (work) => work.readSecrets),
      verify: late('verify', (work) => work.verify),
      render: late('render', (work) => work.render),
      promote: late('promote', (work) => work.promote),
      pull: late('pull', (work) => work.pull),
      up: late('up', (work) => work.up),
      awaitHealth: late('awaitHealth', (work) => work.awaitHealth),
      commit: late('commit', (work) => work.commit),
      putBack: late('putBack', (work) => work.putBack),
      revert: late('revert', (work) => work.revert),
    },
    down: { composeDown: fill('composeDown', composeDown), clearApplied: fill('clearApplied', clearApplied) },
  };
}

/** Most ticks apply nothing: the work of an apply is loaded by its first service. */
function loading<TInput, TOutput>(pick: OfApply<TInput, TOutput>): Service<TInput, TOutput> {
  return async (...given) => pick(await import('./apply/index.ts'))(...given);
}

/** Notes how long a service took, under its name. */
async function timed<T>(tools: Tools, name: string, work: () => Promise<T>): Promise<T> {
  const { tick } = tools;
  const began = clockMs();
  try {
    return await work();
  } catch (error) {
    throw told(tools, error);
  } finally {
    tick.howFar = null;
    tick.durations[name] = Math.round(clockMs() - began);
  }
}

/**
 * A service's error as the machines may hear it. After STOP whatever breaks was cut short; an engine that has answered in
 * this tick and is silent now interrupts it; and no server's words bring a secret along (spec §14).
 */
function told({ stop, tick, vault }: Tools, error: unknown): unknown {
  if (!(error instanceof Fault)) return stop.signal.aborted ? stopped() : error;
  const { code, tail } = error;
  const [line = '', ...more] = error.lines.map((each) => vault.redactor().redact(each));
  const details = { ...(code && { code }), ...(tail && { tail }), more };
  if (code !== 'RUNTIME_UNAVAILABLE' || !tick.engineAnswered) return new Fault(error.ending, line, details);
  return new Fault('interrupted', `the container engine went away; the next tick goes on: ${line}`, details);
}
