import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { findBundle } from '../../store/bundles.ts';
import { listSignatures } from '../../store/signatures.ts';
import { ApiError } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';
import { readAgent } from './agent.ts';

/** A bundle that a host may download. */
export interface OfferedBundle {
  sha256: string;
  sizeBytes: number;
  /** Whether the host may be sent to the storage: the others reach us alone, by whatever name. */
  mayBeSentOn: boolean;
}

/** Finds a bundle of the env of the backend that calls; throws 404 if there is none, also for bundles of other envs. */
export async function offerBundle(
  deps: Dependencies,
  { token, sha256 }: { token: BearerIdentity; sha256: string },
): Promise<OfferedBundle> {
  const { env, transport } = await readAgent(deps, token, 'bundle');
  const bundle = await findBundle(deps.store, sha256);
  if (bundle?.env === env) return { sha256, sizeBytes: bundle.size_bytes, mayBeSentOn: transport === 'system' };
  throw new ApiError({ status: 404, code: 'BUNDLE_NOT_FOUND', message: 'there is no such bundle for this bearer' });
}

/** The signatures of a bundle of the env of the backend that calls, each as JSON text; throws 404 as `offerBundle`. */
export async function offerSignatures(
  deps: Dependencies,
  call: { token: BearerIdentity; sha256: string },
): Promise<string[]> {
  const { sha256 } = await offerBundle(deps, call);
  return (await listSignatures(deps.store, sha256)).map(({ body }) => body);
}
