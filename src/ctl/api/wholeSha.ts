import { CtlError, exits, usageError } from '../ctlError.ts';
import type { Api } from './client.ts';
import { readPages } from './pages.ts';
import type { Bundle } from './types.ts';

/**
 * Digest of the one bundle, of an env or of all, whose digest begins so; a whole digest is not looked up. Throws SHA_INVALID,
 * and BUNDLE_NOT_FOUND if none or several begin so.
 */
export async function wholeSha(api: Api, begins: string, env?: string): Promise<string> {
  if (!/^[0-9a-f]{8,64}$/.test(begins)) throw usageError('SHA_INVALID', `${begins} is no digest: 8 to 64 hex digits`);
  if (begins.length === 64) return begins;
  const call = { path: '/v1/bundles', query: { env }, key: 'bundles', cursor: 'after', limit: Infinity } as const;
  const { bundles } = await readPages<'bundles', Bundle>(api, call);
  const [found, ...more] = bundles.filter(({ sha256 }) => sha256.startsWith(begins));
  if (found !== undefined && more.length === 0) return found.sha256;
  const [ofEnv, option] = env === undefined ? ['', ''] : [` of ${env}`, ` --env ${env}`];
  throw new CtlError({
    exit: exits.failed,
    code: 'BUNDLE_NOT_FOUND',
    message: `${found === undefined ? 'no bundle' : 'more than one bundle'}${ofEnv} begins with ${begins}`,
    remedy: `\`deployctl bundle list${option} --json\` shows whole digests`,
  });
}
