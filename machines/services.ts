import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Bundle, Credentials, Host, Orders, Outcome, Start } from './words.ts';

/**
 * The seams: every service the machines ask for, by name, input and output. `src/agent/services` fills them;
 * one that is forgotten says its own name instead of dying in silence.
 */
function seam<TOutput = void, TInput = void>(name: string): PromiseActorLogic<TOutput, TInput> {
  return fromPromise<TOutput, TInput>(() => Promise.reject(new Error(`service "${name}" was not provided`)));
}

/** The same for actions: what the machine does in passing, without waiting. */
export function unprovided(name: string, _params?: unknown): never {
  throw new Error(`action "${name}" was not provided`);
}

export const tickServices = {
  takeLock: seam('takeLock'),
  recall: seam<Credentials>('recall'),
  bootstrap: seam<{ exchanged: boolean }, Pick<Start, 'intent'>>('bootstrap'),
  probeHost: seam<Host>('probeHost'),
  checkIn: seam<Orders, { host: Host }>('checkIn'),
  deliverReports: seam('deliverReports'),
  heal: seam<Outcome, { host: Host; orders: Orders }>('heal'),
  mend: seam('mend'),
  conclude: seam<void, { outcome: Outcome; orders: Orders | null; host: Host | null }>('conclude'),
  prune: seam<void, { outcome: Outcome }>('prune'),
  keepToken: seam<{ atRisk: boolean }, { outcome: Outcome }>('keepToken'),
  freeLock: seam('freeLock'),
};

/** What the outcome says of the way back. */
interface WayBack {
  reverted: boolean;
  lines: string[];
}

/** A bundle that failed after its promotion, and how. */
interface Failed {
  bundle: Bundle;
  orders: Orders;
  outcome: Outcome;
}

export const applyServices = {
  download: seam<void, { orders: Orders }>('download'),
  unpack: seam<Bundle, { orders: Orders }>('unpack'),
  check: seam<void, { bundle: Bundle; orders: Orders }>('check'),
  readSecrets: seam<void, { bundle: Bundle }>('readSecrets'),
  verify: seam<void, { bundle: Bundle }>('verify'),
  render: seam<void, { bundle: Bundle }>('render'),
  promote: seam<void, { bundle: Bundle }>('promote'),
  pull: seam<void, { bundle: Bundle }>('pull'),
  up: seam<void, { bundle: Bundle; orders: Orders }>('up'),
  awaitHealth: seam<void, { bundle: Bundle }>('awaitHealth'),
  commit: seam<void, { bundle: Bundle; orders: Orders }>('commit'),
  putBack: seam<WayBack, Failed>('putBack'),
  revert: seam<WayBack, Failed>('revert'),
};

export const downServices = {
  composeDown: seam<void, { orders: Orders }>('composeDown'),
  clearApplied: seam('clearApplied'),
};

export type TickServices = typeof tickServices;
export type ApplyServices = typeof applyServices;
export type DownServices = typeof downServices;
