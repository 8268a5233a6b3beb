import type { Command } from 'commander';
import type { Api } from '../api/client.ts';
import { path } from '../api/path.ts';
import { readPages } from '../api/pages.ts';
import type { Bundle, Env } from '../api/types.ts';
import { CtlError, exits, usageError } from '../ctlError.ts';
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
  const sha256 = sha === undefined ? null : await wholeSha(api, env, sha);
  const json = await api.call<Env>({ method: 'PUT', path: path`/v1/envs/${env}/desired`, json: { sha256 } });
  return { json, text: formatEnv(json) };
}

/** The digest that begins so; a whole one is not looked up. */
async function wholeSha(api: Api, env: string, begins: string): Promise<string> {
  if (!/^[0-9a-f]{8,64}$/.test(begins)) throw usageError('SHA_INVALID', `${begins} is no digest: 8 to 64 hex digits`);
  if (begins.length === 64) return begins;
  const call = { path: '/v1/bundles', query: { env }, key: 'bundles', cursor: 'after', limit: Infinity } as const;
  const { bundles } = await readPages<'bundles', Bundle>(api, call);
  const [found, ...more] = bundles.filter(({ sha256 }) => sha256.startsWith(begins));
  if (found !== undefined && more.length === 0) return found.sha256;
  const message = `${found === undefined ? 'no bundle' : 'more than one bundle'} of ${env} begins with ${begins}`;
  throw new CtlError({
    exit: exits.failed,
    code: 'BUNDLE_NOT_FOUND',
    message,
    remedy: `\`deployctl bundle list --env ${env} --json\` shows whole digests`,
  });
}
