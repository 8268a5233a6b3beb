import { hostStates } from '../../../machines/backend.ts';
import type { Labels } from './columns.ts';
import type { Candidate, HostGroup, HostName, HostOutcome } from './rolloutTable.ts';
import type { Store } from './openStore.ts';

/** Backends that are changed by one statement. */
const BACKENDS_AT_ONCE = 500;

/** The hosts and swarms of an env that are active, in the order of their ids, and whether they have joined a rollout. */
export async function listCandidates(
  work: Store,
  { env, rolloutId }: { env: string; rolloutId: string },
): Promise<Candidate[]> {
  const rows = await work
    .selectFrom('backends')
    .select(['id', 'labels', 'state', 'rollout_id', 'swarm_id', 'follower'])
    .where('env', '=', env)
    .where('state', 'in', hostStates)
    .orderBy('id')
    .execute();
  const groups = [...Map.groupBy(rows, ({ id, swarm_id }) => swarm_id ?? id).values()];
  return groups.flatMap((group) => {
    const first = group.find(({ follower, state }) => follower === 0 && state === 'active');
    if (first === undefined) return [];
    const labels = group.map((row) => JSON.parse(row.labels) as Labels);
    return [{ ids: group.map(({ id }) => id), labels, hasJoined: first.rollout_id === rolloutId }];
  });
}

/** Lets backends join a wave of a rollout. */
export async function joinWave(
  work: Store,
  { rolloutId, wave }: { rolloutId: string; wave: number },
  ids: readonly string[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += BACKENDS_AT_ONCE) {
    const joined = { rollout_id: rolloutId, rollout_wave: wave, rollout_outcome: 'waiting' } as const;
    await work
      .updateTable('backends')
      .set(({ eb }) => ({ ...joined, revision: eb('revision', '+', 1) }))
      .where('id', 'in', ids.slice(from, from + BACKENDS_AT_ONCE))
      .execute();
  }
}

/** Excuses the hosts of a rollout that have failed until now. */
export async function excuseFailures(work: Store, rolloutId: string): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ rollout_outcome: 'excused', revision: eb('revision', '+', 1) }))
    .where('rollout_id', '=', rolloutId)
    .where('rollout_outcome', '=', 'failed')
    .execute();
}

/** What something that a host tells means for a rollout. */
export interface OutcomeChange {
  rolloutId: string;
  /** The outcome after it. */
  next: (outcome: HostOutcome) => HostOutcome;
}

/** Changes the outcome of a host in a rollout, unless it has joined another one since. */
export async function changeOutcome(work: Store, id: string, { rolloutId, next }: OutcomeChange): Promise<void> {
  for (;;) {
    const query = work.selectFrom('backends').select(['revision', 'rollout_outcome']).where('id', '=', id);
    const row = await query.where('rollout_id', '=', rolloutId).executeTakeFirst();
    const outcome = row?.rollout_outcome ?? null;
    if (row === undefined || outcome === null || next(outcome) === outcome) return;
    const { revision } = row;
    const update = work
      .updateTable('backends')
      .set({ rollout_outcome: next(outcome), revision: revision + 1 })
      .where('id', '=', id)
      .where('revision', '=', revision);
    if ((await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n) return;
  }
}

/** The first backends of a rollout that have failed, by id; what retires is left out, and a swarm is one of its managers. */
export function listFailed(
  store: Store,
  { env, rolloutId, limit }: { env: string; rolloutId: string; limit: number },
): Promise<HostName[]> {
  const hosts = store.selectFrom('backends').select(['id', 'site']).where('env', '=', env);
  const failed = hosts.where('rollout_id', '=', rolloutId).where('rollout_outcome', '=', 'failed');
  return failed.where('follower', '=', 0).where('state', 'in', hostStates).orderBy('id').limit(limit).execute();
}

/** Counts the backends of an env, a swarm once; `silent` are those that were last seen before a time. */
export function countHosts(
  store: Store,
  { env, rolloutId, seenBefore }: { env: string; rolloutId: string; seenBefore: number },
): Promise<HostGroup[]> {
  const hosts = store
    .selectFrom('backends')
    .select(['state', 'laptop'])
    .select(({ eb }) => [
      eb.case().when('rollout_id', '=', rolloutId).then(eb.ref('rollout_wave')).end().as('wave'),
      eb.case().when('rollout_id', '=', rolloutId).then(eb.ref('rollout_outcome')).end().as('outcome'),
      eb.case().when('last_seen_at', '<', seenBefore).then(1).else(0).end().as('silent'),
    ])
    .where('env', '=', env)
    .where('follower', '=', 0);
  return store
    .selectFrom(hosts.as('hosts'))
    .select(['wave', 'outcome', 'state', 'silent', 'laptop', ({ fn }) => fn.countAll<number>().as('hosts')])
    .groupBy(['wave', 'outcome', 'state', 'silent', 'laptop'])
    .execute();
}
