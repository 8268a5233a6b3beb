import { fromPromise, type PromiseActorLogic } from 'xstate';
import type {
  Archive,
  Bundle,
  DesiredState,
  FaultFacts,
  FoundOnDisk,
  ObservedState,
  Outcome,
  RecordedTick,
  RunOptions,
  StandingHold,
} from './types.ts';

/**
 * Declares a service that the machines invoke, by name, input and output; `src/agent/createAgent.ts` provides the
 * implementations. A service without an implementation rejects with its name.
 */
function declareService<TOutput = void, TInput = void>(name: string): PromiseActorLogic<TOutput, TInput> {
  return fromPromise<TOutput, TInput>(() => Promise.reject(new Error(`service "${name}" was not provided`)));
}

/** Placeholder for an action that `createAgent` must provide. */
export function actionNotProvided(name: string, _params?: unknown): never {
  throw new Error(`action "${name}" was not provided`);
}

/** The hold at the start of the tick; undefined when it could not be read, so that there may be one. */
interface Held {
  hold: StandingHold | null | undefined;
}

export const tickServices = {
  acquireLock: declareService('acquireLock'),
  loadState: declareService<FoundOnDisk>('loadState'),
  bootstrap: declareService<{ exchanged: boolean; refusal: FaultFacts | null }, Pick<RunOptions, 'intent'>>(
    'bootstrap',
  ),
  observeHost: declareService<ObservedState>('observeHost'),
  checkIn: declareService<DesiredState, Held & { observed: ObservedState; grantRefusal: FaultFacts | null }>('checkIn'),
  deliverReports: declareService<void, Pick<RecordedTick, 'heartbeat'>>('deliverReports'),
  heal: declareService<Outcome, Held & { observed: ObservedState; desired: DesiredState }>('heal'),
  healDespite: declareService<
    Outcome,
    Held & { observed: ObservedState; desired: DesiredState | null; outcome: Outcome }
  >('healDespite'),
  clearStaging: declareService<void, { desired: DesiredState }>('clearStaging'),
  revertInterrupted: declareService<void, Held & { desired: DesiredState | null }>('revertInterrupted'),
  recordOutcome: declareService<
    RecordedTick,
    Held &
      Pick<RunOptions, 'intent'> & { outcome: Outcome; desired: DesiredState | null; observed: ObservedState | null }
  >('recordOutcome'),
  prune: declareService<void, Held & { outcome: Outcome }>('prune'),
  renewToken: declareService<{ atRisk: boolean }, { outcome: Outcome }>('renewToken'),
  releaseLock: declareService('releaseLock'),
};

/** Result of a revert, merged into the outcome of the apply. */
export interface RevertResult {
  /** True when the containers run the image ids that ran before the attempt. */
  reverted: boolean;
  lines: string[];
  /** The last output of the failed step, including the revert. */
  tail: string | null;
}

/** Parts of the cargo that `apply` passes on without reading; `src/agent/release/orchestrator.ts` defines them. */
export interface CargoParts {
  signatures: unknown;
  contents: unknown;
  project: unknown;
  model: unknown;
  images: unknown;
  release: unknown;
  started: unknown;
}

/** The initial cargo of an apply. */
export interface ApplyStart extends Held {
  desired: DesiredState;
}

/**
 * The outputs of the states of `apply`, each named after its content. They never contain values of secrets: these stay
 * in the vault, and a text that contains a secret is replaced by its key in the vault.
 */
export interface Cargo<TParts extends CargoParts = CargoParts> extends ApplyStart {
  /** Made by `download`. */
  archive: Archive;
  /** Made by `verifySignatures`: valid signatures of the archive; null if the host trusts no signers. */
  signatures: TParts['signatures'];
  /** Made by `unpack`: the digest, directory and manifest of the bundle. */
  bundle: Bundle;
  /** Made by `unpack`: files and directories of the bundle. */
  contents: TParts['contents'];
  /** Made by `unpack`: the signers of the bundle. */
  signers: readonly string[];
  /** Made by `validateBundle`: the compose files, read once. */
  project: TParts['project'];
  /** Made by `validateBundle`: true if this host has already applied the same content. */
  isApplied: boolean;
  /** Made by `readSecrets`: names of the variables whose values are in the vault. */
  secrets: readonly string[];
  /** Made by `validateRenderedModel`: the model that compose rendered. */
  model: TParts['model'];
  /** Made by `verifyImages`: images with their digests, and the services that use them. */
  images: TParts['images'];
  /** Made by `renderRelease`: the release on disk. */
  release: TParts['release'];
  /** Made by `startContainers`: the time limit for the containers to become healthy. */
  started: TParts['started'];
}

/** A service with the parts of the cargo that it needs and the parts that it adds. */
type Step<
  TParts extends CargoParts,
  TTakes extends keyof Cargo,
  TMakes extends keyof Cargo | null = null,
> = PromiseActorLogic<[TMakes] extends [keyof Cargo] ? Pick<Cargo<TParts>, TMakes> : void, Pick<Cargo<TParts>, TTakes>>;

/** An apply that failed after the promotion. */
export type FailedAttempt<TParts extends CargoParts = CargoParts> = Pick<
  Cargo<TParts>,
  'desired' | 'hold' | 'bundle' | 'release'
> & { outcome: Outcome };

/**
 * The cargo that each service of `apply` needs and adds. A service that needs a part before it is made does not
 * compile.
 */
export interface ApplyServices<T extends CargoParts = CargoParts> {
  download: Step<T, 'desired' | 'hold', 'archive'>;
  verifySignatures: Step<T, 'archive', 'signatures'>;
  unpack: Step<T, 'archive' | 'signatures', 'bundle' | 'contents' | 'signers'>;
  validateBundle: Step<T, 'desired' | 'bundle' | 'contents', 'project' | 'isApplied'>;
  readSecrets: Step<T, 'bundle', 'secrets'>;
  validateRenderedModel: Step<T, 'bundle' | 'contents' | 'project' | 'isApplied' | 'secrets', 'model'>;
  verifyImages: Step<T, 'hold' | 'bundle' | 'project' | 'model', 'images'>;
  renderRelease: Step<
    T,
    'bundle' | 'contents' | 'signatures' | 'signers' | 'project' | 'secrets' | 'model' | 'images',
    'release'
  >;
  promote: Step<T, 'bundle'>;
  pull: Step<T, 'hold' | 'bundle' | 'release'>;
  startContainers: Step<T, 'desired' | 'hold' | 'bundle' | 'project' | 'isApplied' | 'model' | 'release', 'started'>;
  awaitHealth: Step<T, 'hold' | 'bundle' | 'started'>;
  commit: Step<T, 'desired' | 'bundle' | 'signatures' | 'signers' | 'images' | 'release'>;
  restoreCurrent: PromiseActorLogic<RevertResult, FailedAttempt<T>>;
  revertRelease: PromiseActorLogic<RevertResult, FailedAttempt<T>>;
}

export const applyServices: ApplyServices = {
  download: declareService('download'),
  verifySignatures: declareService('verifySignatures'),
  unpack: declareService('unpack'),
  validateBundle: declareService('validateBundle'),
  readSecrets: declareService('readSecrets'),
  validateRenderedModel: declareService('validateRenderedModel'),
  verifyImages: declareService('verifyImages'),
  renderRelease: declareService('renderRelease'),
  promote: declareService('promote'),
  pull: declareService('pull'),
  startContainers: declareService('startContainers'),
  awaitHealth: declareService('awaitHealth'),
  commit: declareService('commit'),
  restoreCurrent: declareService('restoreCurrent'),
  revertRelease: declareService('revertRelease'),
};

export const downServices = {
  composeDown: declareService<void, ApplyStart>('composeDown'),
  clearApplied: declareService('clearApplied'),
};

export type TickServices = typeof tickServices;
export type DownServices = typeof downServices;
