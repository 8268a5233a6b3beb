import type { Api } from './client.ts';
import { path } from './path.ts';
import type { Bundle } from './types.ts';

/** Adds signatures, at least one, to a bundle; the bundle as it is then. */
export async function addSignatures(api: Api, sha256: string, signatures: readonly object[]): Promise<Bundle> {
  const add = (json: object) =>
    api.call<Bundle>({ method: 'POST', path: path`/v1/bundles/${sha256}/signatures`, json });
  let bundle: Bundle | undefined;
  for (const signature of signatures) bundle = await add(signature);
  if (bundle === undefined) throw new TypeError('no signature to add');
  return bundle;
}
