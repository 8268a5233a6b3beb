import { hostStates } from '../../../machines/backend.ts';
import type { ToldSwarm } from '../../protocol/checkIn.ts';
import type { BackendRow } from './database.ts';
import type { Store } from './openStore.ts';

/** A manager of a swarm, as far as the group is concerned. */
export type ManagerRow = Pick<
  BackendRow,
  'id' | 'env' | 'swarm_id' | 'follower' | 'rollout_id' | 'rollout_wave' | 'rollout_outcome'
>;

/** The managers that are one group: those of one swarm and one env that are not retired, nor about to be; who stands for it first. */
export function listManagers(
  store: Store,
  { env, swarm_id }: Pick<ManagerRow, 'env' | 'swarm_id'>,
): Promise<BackendRow[]> {
  return store
    .selectFrom('backends')
    .selectAll()
    .where('swarm_id', '=', swarm_id)
    .where('env', '=', env)
    .where('state', 'in', [...hostStates, 'retiring'])
    .orderBy('follower')
    .orderBy('id')
    .execute();
}

/** True if other managers of the group of a host are not to be retired: what they run stays. */
export async function isShared(store: Store, row: Pick<ManagerRow, 'id' | 'env' | 'swarm_id'>): Promise<boolean> {
  const managers = await listManagers(store, row);
  return managers.some(({ id, state }) => id !== row.id && state !== 'retiring');
}

/** True if what a host tells changes which swarm it is in, or who stands for that. */
export function isMove({ swarm_id, follower }: Pick<ManagerRow, 'swarm_id' | 'follower'>, told?: ToldSwarm): boolean {
  return swarm_id !== (told?.id ?? null) || (follower === 1 && told?.leader === true);
}

/**
 * Puts a host of a locked env into the swarm that it tells, and out of the one that it was in. Whoever comes to others takes
 * over their rollout; whoever leads stands for them all, and goes on where the one before is.
 */
export async function placeInSwarm(work: Store, row: ManagerRow, told?: ToldSwarm): Promise<void> {
  if (row.swarm_id !== (told?.id ?? null)) await handOver(work, row);
  if (told === undefined) return setPlace(work, row.id, { swarm_id: null, follower: 0 });
  const { id: swarm_id, leader } = told;
  const first = await findFirst(work, { ...row, swarm_id });
  const isFollower = first !== undefined && !leader;
  await setPlace(work, row.id, { swarm_id, follower: Number(isFollower), ...(first && rolloutOf(first)) });
  if (first && leader) await setPlace(work, first.id, { follower: 1 });
}

/** Lets another manager of its swarm stand for the others where a host has done so until now. */
export async function handOver(work: Store, row: ManagerRow): Promise<void> {
  if (row.swarm_id === null || row.follower === 1) return;
  const next = await findFirst(work, row);
  if (next !== undefined) await setPlace(work, next.id, { follower: 0, ...rolloutOf(row) });
}

/** Who stands for the swarm of a host, or could, of the other managers. */
async function findFirst(work: Store, row: ManagerRow): Promise<BackendRow | undefined> {
  return (await listManagers(work, row)).find(({ id }) => id !== row.id);
}

function rolloutOf({ rollout_id, rollout_wave, rollout_outcome }: ManagerRow) {
  return { rollout_id, rollout_wave, rollout_outcome };
}

async function setPlace(work: Store, id: string, columns: Partial<ManagerRow>): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ ...columns, revision: eb('revision', '+', 1) }))
    .where('id', '=', id)
    .execute();
}
