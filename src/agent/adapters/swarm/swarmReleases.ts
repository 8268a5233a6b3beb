import type { Sha } from '../../../../machines/types.ts';
import { parseReleaseRecord, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { findObject, type SwarmObjects } from '../engine/swarmObjects.ts';
import { notKept } from './swarmFacts.ts';
import { swarmNamesOf } from './swarmNames.ts';

/** The records of the releases of an env, kept as configs, so that each manager can start any of them again. */
export function createSwarmReleases(configs: SwarmObjects, env: string) {
  const names = swarmNamesOf(env);
  const find = (name: string) => findObject(configs, name);
  return {
    /** The record of a release; null when the swarm keeps none that can be read. */
    read: async (sha: Sha): Promise<ReleaseRecord | null> => {
      const kept = await find(names.release(sha));
      return kept && parseReleaseRecord(kept.data.toString());
    },

    /** Keeps the record of a release; another one of the same release is replaced. */
    write: async (record: ReleaseRecord): Promise<void> => {
      const name = names.release(record.sha);
      const data = Buffer.from(JSON.stringify(record));
      const kept = await find(name);
      if (kept?.data.equals(data) === true) return;
      if (kept !== null) await configs.remove(kept);
      if (!(await configs.create({ name, labels: { 'deployd.env': env }, data }))) throw notKept(name);
    },

    /** Removes the records of all releases but these. */
    forget: async (kept: readonly Sha[]): Promise<void> => {
      const wanted = new Set(kept.map(names.release));
      const records = await configs.list(names.release(''));
      for (const record of records.filter(({ name }) => !wanted.has(name))) await configs.remove(record);
    },
  };
}
