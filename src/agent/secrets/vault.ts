import { inspect } from 'node:util';
import { createRedactor, type Redactor } from './redactor.ts';
import { createMemorySweep } from './memory.ts';

/**
 * Holds the secrets that the agent reads, for the duration of one tick; nothing else keeps one.
 * - Every secret that was ever set is redacted until `clear`, even after a newer one has replaced it.
 * - Printing, serialising or comparing the vault reveals nothing.
 */
export class Vault {
  #token: string | null = null;
  #candidateToken: string | null = null;
  #leaseTokens: string[] = [];
  readonly #values = new Map<string, string>();
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
  setCandidateToken(token: string | null): void {
    if (token !== null) this.registerForRedaction(token);
    this.#candidateToken = token;
  }

  candidateToken(): string | null {
    return this.#candidateToken;
  }

  /** The store token; throws when there is none. */
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

  values(): ReadonlyMap<string, string> {
    return this.#values;
  }

  /** Registers a secret that is redacted but not stored: a grant, a JWT, a registry login. */
  registerForRedaction(secret: string): void {
    if (this.#redacted.has(secret)) return;
    this.#redacted.add(secret);
    this.#redactor = null;
  }

  /** Notes that secrets enter memory which the vault does not know, such as the environment of a container. */
  noteUntrackedSecrets(): void {
    this.#hasUntrackedSecrets = true;
  }

  /** A redactor of all registered secrets; the same one until another secret is registered. */
  redactor(): Redactor {
    this.#redactor ??= createRedactor(this.#redacted);
    return this.#redactor;
  }

  /**
   * Forgets all secrets and schedules a memory sweep. Call it when nothing can be printed any more: redaction ends too.
   */
  clear(): void {
    const tokenOnly = !this.#hasUntrackedSecrets && this.#redacted.size === (this.hasToken() ? 1 : 0);
    this.#token = null;
    this.#candidateToken = null;
    this.#leaseTokens = [];
    this.#values.clear();
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
