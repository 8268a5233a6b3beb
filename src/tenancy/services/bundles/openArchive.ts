import type { Readable } from 'node:stream';
import type { Range } from '../../rules/byteRange.ts';
import { ApiError } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';

/** The bytes of a bundle's archive, or a range of them. Throws 503 if the storage has lost it. */
export async function openArchive(deps: Dependencies, sha256: string, range?: Range): Promise<Readable> {
  const bytes = await deps.bundles.open(sha256, range);
  if (bytes !== null) return bytes;
  deps.log('error', `the bundle storage has no archive ${sha256}, which the store knows`);
  throw unusableArchive('BUNDLE_MISSING', 'the archive of the bundle is missing');
}

/** The answer 503 where the storage does not give what was stored. */
export function unusableArchive(code: 'BUNDLE_MISSING' | 'BUNDLE_DAMAGED', message: string): ApiError {
  return new ApiError({ status: 503, code, message, retryAfterS: 60 });
}
