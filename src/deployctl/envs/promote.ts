import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { CtlError, usageError } from '../core/ctlError.ts';
import { wholeSha } from '../core/lists.ts';
import { signatureSteps } from '../core/table.ts';
import type { EnvDetails } from '../core/types.ts';
import { formatEnv } from './env.ts';

/** `deployctl promote`. */
export function addPromote(program: Command, run: Run): void {
  program
    .command('promote')
    .description('Deploy a bundle to all hosts of an environment')
    .argument('<env>', 'name of the environment')
    .argument('[sha]', 'digest of a pushed bundle, or its first characters')
    .option('--none', 'deploy nothing; hosts keep running what they have')
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
  const call = { method: 'PUT', path: path`/v1/envs/${env}/desired`, json: { sha256 } } as const;
  const json = await api.call<EnvDetails>(call).catch((error: unknown) => {
    throw sha256 === null ? error : withSteps(error, { env, sha256 });
  });
  return { json, text: formatEnv(json) };
}

/** Names the commands that finish a bundle which awaits signatures. */
function withSteps(error: unknown, bundle: { env: string; sha256: string }): unknown {
  if (!(error instanceof CtlError) || error.fields.code !== 'SIGNATURE_AWAITED') return error;
  return new CtlError({ ...error.fields, remedy: signatureSteps(bundle).join('\n') });
}
