import { fromPromise } from 'xstate';
import type { ApplyServices, DownServices, TickServices } from '../../machines/services.ts';
import { Fault, stopped } from '../../machines/fault.ts';
import { awaitHealth } from './apply/awaitHealth.ts';
import { check } from './apply/check.ts';
import { commit } from './apply/commit.ts';
import { download } from './apply/download.ts';
import { putBack, revert } from './apply/fallBack.ts';
import { promote } from './apply/promote.ts';
import { pull } from './apply/pull.ts';
import { readSecrets } from './apply/readSecrets.ts';
import { render } from './apply/render.ts';
import { unpack } from './apply/unpack.ts';
import { up } from './apply/up.ts';
import { verify } from './apply/verify.ts';
import { bootstrap } from './bootstrap.ts';
import { checkIn } from './checkIn.ts';
import { conclude } from './conclude.ts';
import { deliverReports } from './deliverReports.ts';
import { clearApplied, composeDown } from './down.ts';
import { freeLock } from './freeLock.ts';
import { heal } from './heal.ts';
import { keepToken } from './keepToken.ts';
import { mend } from './mend.ts';
import { probeHost } from './probeHost.ts';
import { prune } from './prune.ts';
import { recall } from './recall.ts';
import { takeLock } from './takeLock.ts';
import type { Tools } from './tools.ts';

type Service<TInput, TOutput> = (tools: Tools, input: TInput, signal: AbortSignal) => Promise<TOutput>;

/**
 * Fills every seam of the machines; a missing or wrongly typed one does not compile. A service's signal fires when the
 * machine leaves its state, and at STOP.
 */
export function servicesOf(tools: Tools): { tick: TickServices; apply: ApplyServices; down: DownServices } {
  const fill = <TInput, TOutput>(name: string, service: Service<TInput, TOutput>) =>
    fromPromise<TOutput, TInput>(({ input, signal }) =>
      timed(tools, name, () => service(tools, input, either(signal))),
    );
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
      download: fill('download', download),
      unpack: fill('unpack', unpack),
      check: fill('check', check),
      readSecrets: fill('readSecrets', readSecrets),
      verify: fill('verify', verify),
      render: fill('render', render),
      promote: fill('promote', promote),
      pull: fill('pull', pull),
      up: fill('up', up),
      awaitHealth: fill('awaitHealth', awaitHealth),
      commit: fill('commit', commit),
      putBack: fill('putBack', putBack),
      revert: fill('revert', revert),
    },
    down: { composeDown: fill('composeDown', composeDown), clearApplied: fill('clearApplied', clearApplied) },
  };
}

/** Notes how long a service took, under its name. */
async function timed<T>(tools: Tools, name: string, work: () => Promise<T>): Promise<T> {
  const { tick } = tools;
  const began = performance.now();
  try {
    return await work();
  } catch (error) {
    throw told(tools, error);
  } finally {
    tick.howFar = null;
    tick.durations[name] = Math.round(performance.now() - began);
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
