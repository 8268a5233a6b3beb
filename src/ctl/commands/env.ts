import type { Command } from 'commander';
import { path } from '../api/path.ts';
import type { Env } from '../api/types.ts';
import { shortSha } from '../output/sha.ts';
import { formatFacts, formatTable } from '../output/table.ts';
import type { Result, Run, Session } from '../session.ts';

/** `deployctl env list|show|create|delete`. */
export function addEnv(program: Command, run: Run): void {
  const env = program
    .command('env')
    .helpCommand(false)
    .description('the envs: what is desired in them, and how many backends they have');
  env.command('list').description('every env that you may see').action(run(listEnvs));
  env.command('show').description('one env').argument('<env>', 'its name').action(run(showEnv));
  env
    .command('create')
    .description('a new env, without backends')
    .argument('<env>', 'its name')
    .option('--production', 'no retirement ever removes its volumes')
    .action(run(createEnv));
  env
    .command('delete')
    .description('remove an env whose backends are all retired')
    .argument('<env>', 'its name')
    .action(run(deleteEnv));
}

async function listEnvs(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<{ envs: Env[] }>({ method: 'GET', path: '/v1/envs' });
  const rows = json.envs.map(({ name, production, desired_sha, last_sequence, backends }) => [
    name,
    production ? 'yes' : 'no',
    shortSha(desired_sha),
    String(last_sequence),
    formatCounts(backends),
  ]);
  return { json, text: formatTable(['ENV', 'PRODUCTION', 'DESIRED', 'SEQUENCE', 'BACKENDS'], rows, session.width) };
}

async function showEnv(session: Session, [name]: [string]): Promise<Result> {
  const api = await session.api();
  return resultOf(await api.call<Env>({ method: 'GET', path: path`/v1/envs/${name}` }));
}

async function createEnv(session: Session, [name]: [string], options: { production?: boolean }): Promise<Result> {
  const api = await session.api();
  const json = { name, production: options.production ?? false };
  return resultOf(await api.call<Env>({ method: 'POST', path: '/v1/envs', json }));
}

async function deleteEnv(session: Session, [name]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/envs/${name}` });
  return { json, text: `env ${name} is deleted` };
}

function resultOf(env: Env): Result {
  return { json: env, text: formatEnv(env) };
}

/** An env as text. */
export function formatEnv({ name, production, desired_sha, last_sequence, backends }: Env): string {
  return formatFacts([
    ['env', name],
    ['production', production ? 'yes' : 'no'],
    ['desired', desired_sha ?? 'nothing'],
    ['sequence', String(last_sequence)],
    ['backends', formatCounts(backends)],
  ]);
}

function formatCounts(backends: Env['backends']): string {
  const counts = Object.entries(backends).filter(([, count]) => count > 0);
  return counts.map(([state, count]) => `${count} ${state}`).join(', ') || 'none';
}
