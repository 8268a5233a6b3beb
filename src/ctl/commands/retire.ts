import type { Command } from 'commander';
import { path } from '../api/path.ts';
import type { Retiring } from '../api/types.ts';
import type { Result, Run, Session } from '../session.ts';

interface RetireOptions {
  confirm?: boolean;
  force?: boolean;
  purgeVolumes?: boolean;
  swarm?: boolean;
}

/** `deployctl retire`. */
export function addRetire(program: Command, run: Run): void {
  program
    .command('retire')
    .description('take the host of a backend down, then revoke and delete what belongs to it')
    .argument('<id>', 'of the backend')
    .option('--confirm', 'required: it cannot be undone')
    .option('--force', 'an offline one too; one that is retiring, without waiting for its host')
    .option('--swarm', 'all managers of its swarm: what they run is taken down, by the leader')
    .option('--purge-volumes', 'remove its volumes too, except on production hosts')
    .action(run(retire));
}

async function retire(
  session: Session,
  [id]: [string],
  { confirm = false, force = false, purgeVolumes = false, swarm = false }: RetireOptions,
): Promise<Result> {
  const api = await session.api();
  // A service of an older version knows no swarm.
  const body = { confirm, force, purge_volumes: purgeVolumes, ...(swarm && { swarm }) };
  const call = { method: 'POST', path: path`/v1/backends/${id}/retire`, json: body } as const;
  const json = await api.call<Retiring>(call);
  const backends = [json, ...(json.others ?? [])];
  return { json, text: backends.map(({ id, state }) => `backend ${id} is ${state}`).join('\n') };
}
