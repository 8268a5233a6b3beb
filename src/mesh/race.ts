import { MeshTrouble, sortSocketError, type TroubleKind } from './trouble.ts';

/** One way to get something; it ends, with a MeshTrouble, when the signal fires. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T>;

/** How several attempts are run. */
export interface Race<T> {
  /** Milliseconds after which the next one begins although those before go on. */
  everyMs: number;
  /** After a trouble of these kinds nobody else is asked. */
  final: readonly TroubleKind[];
  signal: AbortSignal;
  /** Gives back what a later one has got although it is no longer wanted. */
  drop: (late: T) => void;
}

/**
 * What the first successful attempt gives; the others are ended. The next one begins as soon as one has failed, or after its
 * share of the time, so that whoever says nothing takes the time of nobody else and yet has all of it. When all have failed,
 * throws the trouble that tells most.
 */
export function firstOf<T>(attempts: readonly Attempt<T>[], race: Race<T>): Promise<T> {
  return new Promise((resolve, reject) => new Running(attempts, race, { resolve, reject }).begin());
}

/** How a promise is settled. */
interface Settle<T> {
  resolve: (value: T) => void;
  reject: (trouble: MeshTrouble) => void;
}

class Running<T> {
  readonly #race: Race<T>;
  readonly #settle: Settle<T>;
  readonly #decided = new AbortController();
  readonly #waiting: Attempt<T>[];
  readonly #troubles: MeshTrouble[] = [];
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(attempts: readonly Attempt<T>[], race: Race<T>, settle: Settle<T>) {
    this.#waiting = [...attempts];
    this.#race = race;
    this.#settle = settle;
  }

  /** Begins the next attempt; without one, and with none under way, all have failed. */
  begin(): void {
    const { everyMs, signal } = this.#race;
    clearTimeout(this.#timer);
    const attempt = this.#waiting.shift();
    if (attempt === undefined) {
      if (this.#underWay === 0) this.#fail(tellingMost(this.#troubles));
      return;
    }
    this.#underWay++;
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.begin(), everyMs);
    attempt(AbortSignal.any([signal, this.#decided.signal])).then(
      (value) => this.#won(value),
      (error: unknown) => this.#lost(sortSocketError(error, 'mesh')),
    );
  }

  #won(value: T): void {
    if (this.#decided.signal.aborted) this.#race.drop(value);
    else {
      this.#decide();
      this.#settle.resolve(value);
    }
  }

  #lost(trouble: MeshTrouble): void {
    this.#underWay--;
    this.#troubles.push(trouble);
    if (this.#decided.signal.aborted) return;
    if (this.#race.signal.aborted) this.#waiting.length = 0;
    if (this.#race.final.includes(trouble.kind)) this.#fail(trouble);
    else this.begin();
  }

  #fail(trouble: MeshTrouble): void {
    this.#decide();
    this.#settle.reject(trouble);
  }

  #decide(): void {
    clearTimeout(this.#timer);
    this.#decided.abort();
  }
}

/** Who is away tells less than who answers. */
function tellingMost(troubles: MeshTrouble[]): MeshTrouble {
  const last = troubles.at(-1) ?? new MeshTrouble('unreachable', 'there is nobody to ask');
  return troubles.find(({ kind }) => kind !== 'unreachable') ?? last;
}
