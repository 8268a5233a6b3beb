import { inspect } from 'node:util';
import { createRedactor, type Redactor } from './redact.ts';
import { createSweep } from './sweep.ts';

/**
 * The only object that holds secrets, for the length of one tick.
 * - What was once held is redacted until `forget`, even after something newer took its place.
 * - Printing, serialising or comparing the vault shows nothing of it.
 */
export class Vault {
  #token: string | null = null;
  #candidate: string | null = null;
  #lease: string | null = null;
  readonly #values = new Map<string, string>();
  readonly #known = new Set<string>();
  readonly #sweepSoon: (tokenAlone: boolean) => void;
  #redactor: Redactor | null = null;
  #hasUnheld = false;

  /** `sweepSoon` hears at each `forget` whether nothing but the token was in memory. */
  constructor(sweepSoon = createSweep()) {
    this.#sweepSoon = sweepSoon;
  }

  /** Takes the store token, the bearer of every call to the tenancy service and the secretstore. */
  holdToken(token: string): void {
    this.guard(token);
    this.#token = token;
  }

  /** Takes what may become the store token once the tenancy service has taken it; null when that is decided. */
  holdCandidate(token: string | null): void {
    if (token !== null) this.guard(token);
    this.#candidate = token;
  }

  candidate(): string | null {
    return this.#candidate;
  }

  /** The store token; an Error when none is held. */
  token(): string {
    if (this.#token === null) throw new Error('the vault holds no token');
    return this.#token;
  }

  hasToken(): boolean {
    return this.#token !== null;
  }

  /** Takes the short-lived token with which an apply reads the manifest's paths. */
  holdLease(lease: string): void {
    this.guard(lease);
    this.#lease = lease;
  }

  lease(): string | null {
    return this.#lease;
  }

  /** Takes the value of one variable of the bundle. */
  holdValue(variable: string, value: string): void {
    this.guard(value);
    this.#values.set(variable, value);
  }

  value(variable: string): string | undefined {
    return this.#values.get(variable);
  }

  values(): ReadonlyMap<string, string> {
    return this.#values;
  }

  /** Takes note of a secret that is only to be redacted: a grant, a JWT, a registry login. */
  guard(secret: string): void {
    if (this.#known.has(secret)) return;
    this.#known.add(secret);
    this.#redactor = null;
  }

  /** Takes note that secrets come into memory of which it holds none. */
  noteUnheld(): void {
    this.#hasUnheld = true;
  }

  /** A redactor of all that the vault has ever held; a new one only after something was added. */
  redactor(): Redactor {
    this.#redactor ??= createRedactor(this.#known);
    return this.#redactor;
  }

  /** Drops everything, also from what the redactor knows, and from memory: call it when nothing can be printed any more. */
  forget(): void {
    const tokenAlone = !this.#hasUnheld && this.#known.size === (this.hasToken() ? 1 : 0);
    this.#token = null;
    this.#candidate = null;
    this.#lease = null;
    this.#values.clear();
    this.#known.clear();
    this.#redactor = null;
    this.#hasUnheld = false;
    this.#sweepSoon(tokenAlone);
  }

  toJSON(): string {
    return this.toString();
  }

  toString(): string {
    return '[Vault]';
  }

  [inspect.custom](): string {
    return this.toString();
  }
}
