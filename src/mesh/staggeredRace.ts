import { MeshError, classifySocketError, type MeshErrorKind } from './meshError.ts';

/** One attempt; it fails with a MeshError when the signal aborts. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T>;

/** How to run several attempts. */
export interface RaceOptions<T> {
  /** Milliseconds after which the next attempt starts although earlier ones are running. */
  staggerMs: number;
  /** Errors of these kinds end the race. */
  finalKinds: readonly MeshErrorKind[];
  signal: AbortSignal;
  /** Releases the result of an attempt that succeeds too late. */
  discardLate: (late: T) => void;
  /** The error of a race in which all attempts failed; by default the most informative one. */
  judge?: (errors: MeshError[]) => MeshError;
}

/**
 * Returns the result of the first successful attempt and aborts the others. The next attempt starts when one fails, or
 * after `staggerMs`; so a peer that does not respond delays the others by no more than that, and still has the whole
 * time. When all fail, throws the most informative error.
 */
export function firstSuccess<T>(attempts: readonly Attempt<T>[], race: RaceOptions<T>): Promise<T> {
  return new Promise((resolve, reject) => new RunningRace(attempts, race, { resolve, reject }).startNext());
}

/** The functions that settle a promise. */
interface PromiseResolvers<T> {
  resolve: (value: T) => void;
  reject: (error: MeshError) => void;
}

class RunningRace<T> {
  readonly #race: RaceOptions<T>;
  readonly #resolvers: PromiseResolvers<T>;
  readonly #decided = new AbortController();
  readonly #pending: Attempt<T>[];
  readonly #errors: MeshError[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(attempts: readonly Attempt<T>[], race: RaceOptions<T>, resolvers: PromiseResolvers<T>) {
    this.#pending = [...attempts];
    this.#race = race;
    this.#resolvers = resolvers;
  }

  /** Starts the next attempt; when none is left and none is running, the race has failed. */
  startNext(): void {
    const { staggerMs, signal } = this.#race;
    clearTimeout(this.#timer);
    const attempt = this.#pending.shift();
    if (attempt === undefined) {
      if (this.#running === 0) this.#fail((this.#race.judge ?? mostInformative)(this.#errors));
      return;
    }
    this.#running++;
    if (this.#pending.length > 0) this.#timer = setTimeout(() => this.startNext(), staggerMs);
    attempt(AbortSignal.any([signal, this.#decided.signal])).then(
      (value) => this.#succeed(value),
      (error: unknown) => this.#attemptFailed(classifySocketError(error, 'mesh')),
    );
  }

  #succeed(value: T): void {
    if (this.#decided.signal.aborted) this.#race.discardLate(value);
    else {
      this.#decide();
      this.#resolvers.resolve(value);
    }
  }

  #attemptFailed(error: MeshError): void {
    this.#running--;
    this.#errors.push(error);
    if (this.#decided.signal.aborted) return;
    if (this.#race.signal.aborted) this.#pending.length = 0;
    if (this.#race.finalKinds.includes(error.kind)) this.#fail(error);
    else this.startNext();
  }

  #fail(error: MeshError): void {
    this.#decide();
    this.#resolvers.reject(error);
  }

  #decide(): void {
    clearTimeout(this.#timer);
    this.#decided.abort();
  }
}

/** The result of work; once the signal aborts, an error of kind `unreachable`, while the work may continue. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new MeshError('unreachable', message));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** An `unreachable` peer is less informative than any response. */
function mostInformative(errors: MeshError[]): MeshError {
  const last = errors.at(-1) ?? new MeshError('unreachable', 'there is nobody to ask');
  return errors.find(({ kind }) => kind !== 'unreachable') ?? last;
}
