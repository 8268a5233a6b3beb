import { randomBytes } from 'node:crypto';
import { failedFault, type Fault } from '../../../../machines/fault.ts';
import { emptySwarmState, parseSwarmState, type SwarmState } from '../../rules/swarm/swarmState.ts';
import { findObject, type SwarmObject, type SwarmObjects } from '../engine/swarmObjects.ts';
import { swarmNamesOf } from './swarmNames.ts';

/** The state as one manager has read it; a write names it, and fails when another one came between. */
export interface SeenState {
  state: SwarmState;
  /** Null while the swarm keeps none. */
  seen: SwarmObject | null;
}

export type SwarmFacts = ReturnType<typeof createSwarmFacts>;

const format = Buffer.from('1');
const keyBytes = 32;

/**
 * What all managers of a swarm share, kept as its configs: a manager that cannot ask the swarm knows nothing
 * of it, and one that does is told the newest. Only the key is secret; whoever can read it has no need of it.
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

    /** Writes the state that follows upon one that was read; false when another manager has written since then. */
    writeState: ({ seen }: SeenState, next: SwarmState): Promise<boolean> => {
      const written = { ...labels, [stateLabel]: JSON.stringify(next) };
      return seen === null
        ? configs.create({ name: names.state, labels: written, data: format })
        : configs.relabel(seen, written);
    },

    /** The key by which all managers name secrets; the first who asks makes it. */
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

/** A name that was given away and is free again at once. */
function notKept(name: string): Fault {
  return failedFault('RUNTIME_UNAVAILABLE', `another manager changed config ${name} of the swarm at the same time`);
}
