import { inspect } from 'node:util';
import { createRedactor, type Redactor } from './redactor.ts';
import { createMemorySweep } from './memory.ts';
import type { Concealed } from '../../../machines/types.ts';

/** A token that a grant was exchanged for, and that no check-in has confirmed or rejected. */
export interface CandidateToken {
  token: string;
  /** Seconds, at the time of its issue. */
  ttlS: number;
  renewable: boolean;
  issuedAt: Date;
}

/**
 * Holds the secrets that the agent reads, for the duration of one tick; nothing else keeps one.
 * - Every secret that was ever set is redacted until `clear`, even after a newer one has replaced it.
 * - Printing, serialising or comparing the vault reveals nothing.
 */
export class Vault {
  #token: string | null = null;
  #candidate: CandidateToken | null = null;
  #leaseTokens: string[] = [];
  readonly #values = new Map<string, string>();
  readonly #concealed = new Map<string, string>();
  readonly #redacted = new Set<string>();
  readonly #scheduleSweep: (tokenOnly: boolean) => void;
  #redactor: Redactor | null = null;
  #hasUntrackedSecrets = false;

  /** `scheduleSweep` is called by each `clear` with whether only the token was in memory. */
  constructor(scheduleSweep = createMemorySweep()) {
    this.#scheduleSweep = scheduleSweep;
  }

  /** Sets the store token, the bearer token of every call to the tenancy service and the secretstore. */
  setToken(token: string): void {
    this.registerForRedaction(token);
    this.#token = token;
  }

  /** Sets a token that becomes the store token once the tenancy service has accepted it; null when that is decided. */
  setCandidate(candidate: CandidateToken | null): void {
    if (candidate !== null) this.registerForRedaction(candidate.token);
    this.#candidate = candidate;
  }

  candidate(): CandidateToken | null {
    return this.#candidate;
  }

  /** The store token; throws if there is no token. */
  token(): string {
    if (this.#token === null) throw new Error('the vault holds no token');
    return this.#token;
  }

  hasToken(): boolean {
    return this.#token !== null;
  }

  /** Sets the short-lived token with which an apply reads the manifest's paths. */
  setLeaseToken(token: string): void {
    this.registerForRedaction(token);
    this.#leaseTokens.push(token);
  }

  /** The newest one. */
  leaseToken(): string | null {
    return this.#leaseTokens.at(-1) ?? null;
  }

  /** Every one of this tick: a revert or a heal may read logins after the secrets of a bundle were read. */
  leaseTokens(): readonly string[] {
    return this.#leaseTokens;
  }

  /** Sets the value of one variable of the bundle. */
  setValue(variable: string, value: string): void {
    this.registerForRedaction(value);
    this.#values.set(variable, value);
  }

  value(variable: string): string | undefined {
    return this.#values.get(variable);
  }

  /** The values of these variables of the bundle; one that the vault does not have is left out. */
  valuesOf(variables: readonly string[]): ReadonlyMap<string, string> {
    const known = [...new Set(variables)].map((name) => [name, this.#values.get(name)] as const);
    return new Map(known.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /** True when a text contains no secret, so that it may be written to disk. */
  isSecretFree(text: string): boolean {
    return this.redactor().redact(text) === text;
  }

  /** Keeps a text that contains a secret; returns a key that may be passed on, for which `reveal` returns the text. */
  conceal(text: string): Concealed {
    if (this.isSecretFree(text)) return text as Concealed;
    const [known] = [...this.#concealed].find(([, each]) => each === text) ?? [];
    const name = known ?? `[concealed ${this.#concealed.size + 1}]`;
    this.#concealed.set(name, text);
    return name as Concealed;
  }

  reveal(text: Concealed): string {
    return this.#concealed.get(text) ?? text;
  }

  /** Registers a secret that is redacted but not stored: a grant, a JWT, a registry login. */
  registerForRedaction(secret: string): void {
    if (this.#redacted.has(secret)) return;
    this.#redacted.add(secret);
    this.#redactor = null;
  }

  /** Records that secrets enter memory which the vault does not know, such as the environment of a container. */
  noteUntrackedSecrets(): void {
    this.#hasUntrackedSecrets = true;
  }

  /** A redactor of all registered secrets; the same one until another secret is registered. */
  redactor(): Redactor {
    this.#redactor ??= createRedactor(this.#redacted);
    return this.#redactor;
  }

  /**
   * Discards all secrets and schedules a memory sweep. Call it when nothing can be printed any more: redaction ends
   * too.
   */
  clear(): void {
    const tokenOnly = !this.#hasUntrackedSecrets && this.#redacted.size === (this.hasToken() ? 1 : 0);
    this.#token = null;
    this.#candidate = null;
    this.#leaseTokens = [];
    this.#values.clear();
    this.#concealed.clear();
    this.#redacted.clear();
    this.#redactor = null;
    this.#hasUntrackedSecrets = false;
    this.#scheduleSweep(tokenOnly);
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
