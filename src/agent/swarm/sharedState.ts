import { randomBytes } from 'node:crypto';
import { failedFault, Fault } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import type { State } from '../state/state.rules.ts';
import type { StateStore } from '../state/stateFile.ts';
import { findObject, swarmNamesOf, type SwarmObject, type SwarmObjects } from './swarmObjects.ts';
import {
  emptySwarmState,
  isOutside,
  membershipFault,
  parseSwarmState,
  sharedFactsOf,
  type SwarmMembership,
  type SwarmState,
} from './swarmState.rules.ts';

/** Location of the state, and its dependencies. */
interface SharedStateParts {
  file: StateStore;
  facts: SwarmFacts;
  /** The record of a release on this host. */
  readRecord: (sha: Sha) => Promise<ReleaseRecord | null>;
}

/**
 * `state.json` as a copy of the state that the managers of a swarm share. The shared state changes first, by compare
 * and swap in the swarm. Only the acting agent changes it, and fails with the ending `interrupted` as soon as another
 * agent has written.
 */
export class SharedState implements StateStore {
  readonly #parts: SharedStateParts;
  #node = '';
  #record: ReleaseRecord | null = null;
  /** The last state that this agent has read or written while it may act. */
  #seen: SeenState | null = null;

  constructor(parts: SharedStateParts) {
    this.#parts = parts;
  }

  get state(): Readonly<State> {
    return this.#parts.file.state;
  }

  get isUnknown(): boolean {
    return this.#parts.file.isUnknown;
  }

  /** The record of the applied release, which may exist only on another host; null when no release is applied. */
  get record(): ReleaseRecord | null {
    return this.#record;
  }

  /** Reads the copy. Until `follow`, this agent may not act. */
  async load(): Promise<Readonly<State>> {
    this.#seen = null;
    return this.#parts.file.load();
  }

  /**
   * Copies the shared state of the managers to this host. An acting agent takes over the attempt of another node.
   * Throws `RUNTIME_UNAVAILABLE` when the swarm cannot be queried.
   */
  async follow({ node, acts }: { node: string; acts: boolean }): Promise<void> {
    const { file, facts } = this.#parts;
    const seen = await facts.readState();
    const isOther = seen.state.facts.applied_sha !== file.state.applied_sha;
    await file.update({
      ...seen.state.facts,
      ...(seen.seen === null && outlivesSwarm(file.state)),
      ...(isOther && { judged: { digest: '', violations: [] } }),
    });
    this.#node = node;
    this.#record = seen.state.record;
    this.#seen = acts ? seen : null;
    if (acts && file.state.attempt !== null && seen.state.node !== node) await this.#share(seen, file.state);
  }

  /**
   * Changes the state, first in the swarm if the managers share it. Throws `RUNTIME_UNAVAILABLE` for an attempt while
   * the swarm cannot confirm that this agent may act.
   */
  async update(patch: Partial<State>): Promise<void> {
    const [seen, next] = [this.#seen, { ...this.state, ...patch }];
    if (seen !== null && !isSame(seen.state.facts, sharedFactsOf(next))) await this.#share(seen, next);
    if (seen === null && patch.attempt)
      throw failedFault('RUNTIME_UNAVAILABLE', 'the swarm does not report whether this node is the leader');
    await this.#parts.file.update(patch);
  }

  /** Throws when another agent has written since this one: then that agent acts instead. */
  async confirm(): Promise<void> {
    const { seen } = await this.#parts.facts.readState();
    if (this.#seen === null || seen?.version !== this.#seen.seen?.version) throw this.#superseded();
  }

  async #share(seen: SeenState, next: Readonly<State>): Promise<void> {
    const { facts, readRecord } = this.#parts;
    const { applied_sha, applied_at } = next;
    const isAppliedNow = applied_sha !== null && applied_at !== seen.state.facts.applied_at;
    const kept = seen.state.record?.sha === applied_sha ? seen.state.record : null;
    const record = isAppliedNow ? await readRecord(applied_sha) : kept;
    const written = { facts: sharedFactsOf(next), node: this.#node, record };
    if (!(await facts.writeState(seen, written))) throw this.#superseded();
    const now = await facts.readState();
    if (!isSame(now.state, written)) throw this.#superseded();
    this.#seen = now;
    this.#record = record;
  }

  #superseded(): Fault {
    this.#seen = null;
    return new Fault('interrupted', 'another manager of the swarm is the leader now and continues the work');
  }
}

/** The facts of a host that are kept if its swarm has no state yet, so that a new swarm cannot downgrade a host. */
function outlivesSwarm({
  highest_sequence,
  highest_sha,
  production,
  production_unknown,
}: Readonly<State>): Partial<State> {
  return {
    highest_sequence,
    production,
    ...(highest_sha !== undefined && { highest_sha }),
    ...(production_unknown !== undefined && { production_unknown }),
  };
}

/** The swarm of a host, for a command that changes the sequence of its managers. */
interface SequenceOfSwarm {
  facts: Pick<SwarmFacts, 'readState' | 'writeState'>;
  membership: () => Promise<SwarmMembership>;
}

/**
 * Sets the sequence that all managers of a swarm accept, and resolves to the previous one; it stays if `isKept` says so. An
 * agent that acts at the moment ends its tick as `interrupted`. Outside a swarm only the state of this host counts; a new
 * swarm starts with it.
 */
export async function resetSharedSequence(
  { facts, membership }: SequenceOfSwarm,
  { sequence, state, isKept }: { sequence: number; state: Readonly<State>; isKept: (known: number) => boolean },
): Promise<number> {
  const found = await membership();
  if (isOutside(found)) return state.highest_sequence;
  const fault = membershipFault(found);
  if (fault !== null) throw fault;
  const seen = await facts.readState();
  const current = seen.seen === null ? { ...seen.state.facts, ...outlivesSwarm(state) } : seen.state.facts;
  const { highest_sequence: known } = current;
  if (isKept(known)) return known;
  const next = { ...seen.state, facts: { ...current, highest_sequence: sequence, highest_sha: null } };
  if (await facts.writeState(seen, next)) return known;
  throw new Fault('interrupted', 'another manager of the swarm changed the state at the same time; try again');
}

/** Both have their fields in the same order. */
function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The state as one manager has read it; a write refers to it, and fails when another write came in between. */
interface SeenState {
  state: SwarmState;
  /** Null while the swarm has no state. */
  seen: SwarmObject | null;
}

type SwarmFacts = ReturnType<typeof createSwarmFacts>;

const format = Buffer.from('1');
const keyBytes = 32;

/**
 * The shared state of all managers of a swarm, stored as its configs. A manager that cannot query the swarm knows
 * nothing of it; one that can gets the newest. Only the key is secret, and anyone who can read it could read the
 * secrets anyway.
 */
export function createSwarmFacts(configs: SwarmObjects, env: string) {
  const names = swarmNamesOf(env);
  const labels = { 'deployd.env': env };
  const find = (name: string) => findObject(configs, name);
  const readState = async (): Promise<SeenState> => {
    const seen = await find(names.state);
    return { seen, state: seen === null ? emptySwarmState(env) : stateIn(seen, env) };
  };
  return {
    readState,

    /** Writes the successor of a state that was read; false when another manager has written since then. */
    writeState: ({ seen }: SeenState, next: SwarmState): Promise<boolean> => {
      const written = { ...labels, [stateLabel]: JSON.stringify(next) };
      return seen === null
        ? configs.create({ name: names.state, labels: written, data: format })
        : configs.relabel(seen, written);
    },

    /** The key by which all managers name secrets; the first manager that needs it creates it. */
    key: async (): Promise<Uint8Array> => {
      const kept = await find(names.key);
      if (kept !== null) return kept.data;
      const data = randomBytes(keyBytes);
      if (await configs.create({ name: names.key, labels, data })) return data;
      const other = await find(names.key);
      if (other === null) throw notKept(names.key);
      return other.data;
    },
  };
}

const stateLabel = 'deployd.state';

function stateIn({ name, labels }: SwarmObject, env: string): SwarmState {
  const state = parseSwarmState(labels[stateLabel] ?? '', env);
  if (state === null) throw failedFault('RUNTIME_UNAVAILABLE', `config ${name} of the swarm holds no state`);
  return state;
}

/** A name that was taken and is free again at once. */
function notKept(name: string): Fault {
  return failedFault('RUNTIME_UNAVAILABLE', `another manager changed config ${name} of the swarm at the same time`);
}
