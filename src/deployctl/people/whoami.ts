import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { formatFacts } from '../core/table.ts';
import type { WhoAmI } from '../core/types.ts';

/** `deployctl whoami`. */
export function addWhoAmI(program: Command, run: Run): void {
  program.command('whoami').description('Show the owner and permissions of the current token').action(run(whoAmI));
}

async function whoAmI(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<WhoAmI>({ method: 'GET', path: '/v1/whoami' });
  return { json, text: formatWhoAmI(json) };
}

/** An operator's name, role and envs as text. */
export function formatWhoAmI({ name, role, envs }: WhoAmI): string {
  return formatFacts([
    ['name', name],
    ['role', role],
    ['envs', formatEnvs(envs)],
  ]);
}

/** The envs that a token is limited to. */
export function formatEnvs(envs: string[] | null): string {
  return envs === null ? 'all' : envs.join(', ');
}
