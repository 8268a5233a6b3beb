import type { Command } from 'commander';
import { path } from '../api/path.ts';
import type { Env } from '../api/types.ts';
import { wholeSha } from '../api/wholeSha.ts';
import { usageError } from '../ctlError.ts';
import type { Result, Run, Session } from '../session.ts';
import { formatEnv } from './env.ts';

/** `deployctl promote`. */
export function addPromote(program: Command, run: Run): void {
  program
    .command('promote')
    .description('make a bundle the desired one of its env')
    .argument('<env>', 'the env')
    .argument('[sha]', 'digest of a bundle that was pushed, or how it begins')
    .option('--none', 'nothing is to run there; hosts keep what they have')
    .action(run(promote));
}

async function promote(
  session: Session,
  [env, sha]: [string, string | undefined],
  { none = false }: { none?: boolean },
): Promise<Result> {
  if (none === (sha !== undefined)) throw usageError('SHA_INVALID', 'give the digest of a bundle, or --none');
  const api = await session.api();
  const sha256 = sha === undefined ? null : await wholeSha(api, sha, env);
  const json = await api.call<Env>({ method: 'PUT', path: path`/v1/envs/${env}/desired`, json: { sha256 } });
  return { json, text: formatEnv(json) };
}
