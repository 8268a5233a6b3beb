import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import { OVERRIDE_FILE } from '../../adapters/release/generatedFiles.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { incompleteFault } from './incompleteFault.ts';

/** Arguments of compose for a release on disk: its real path, its compose files, the override with the content labels, its profiles. */
export async function composeReleaseOf(deps: Dependencies, sha: string): Promise<ComposeRelease> {
  const { compose, profiles = [] } = await completeRecord(deps, sha);
  return { dir: deps.releases.pathOf(sha), files: [...compose, OVERRIDE_FILE], profiles };
}

/** The record of a release. Throws `RELEASE_INCOMPLETE` without one. */
export async function completeRecord({ releases }: Dependencies, sha: string): Promise<ReleaseRecord> {
  const record = await releases.readRecord(sha);
  if (record === null) throw incompleteFault(`release ${sha} is incomplete`);
  return record;
}
