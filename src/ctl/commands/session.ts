import type { Command } from 'commander';
import { path } from '../api/path.ts';
import type { PersonSession } from '../api/types.ts';
import { formatTable } from '../output/table.ts';
import { formatAge, formatLeft } from '../output/times.ts';
import type { Result, Run, Session } from '../session.ts';
import { formatEnvs } from './whoami.ts';

/** `deployctl session list|end`. */
export function addSession(program: Command, run: Run): void {
  const session = program.command('session').helpCommand(false).description('who has signed in, and where');
  session.command('list').description('sessions of people, the newest first').action(run(listSessions));
  session.command('end').description('end a session at once').argument('<id>', 'its id').action(run(endSession));
}

async function listSessions(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<{ sessions: PersonSession[] }>({ method: 'GET', path: '/v1/sessions' });
  const rows = json.sessions.map(({ id, name, role, envs, address, last_used_at, expires_at }) => [
    ...[id, name, role ?? '-', formatEnvs(envs), address],
    formatAge(last_used_at, session.nowMs),
    formatLeft(expires_at, session.nowMs),
  ]);
  const head = ['ID', 'NAME', 'ROLE', 'ENVS', 'FROM', 'USED', 'ENDS'];
  return { json, text: formatTable(head, rows, session.width) };
}

async function endSession(session: Session, [id]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/sessions/${id}` });
  return { json, text: `session ${id} is ended` };
}
