import type { EnvDigest } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { loadKeyedDigest } from './keyedDigest.ts';

/** Size and keyed digest of a release's `.env`, which detect a change (spec §12). */
export async function envDigestOf(deps: Pick<Dependencies, 'settings'>, env: string): Promise<EnvDigest> {
  const digest = await loadKeyedDigest(deps);
  return { bytes: Buffer.byteLength(env), mac: digest.of(env), key: digest.keyId };
}

/** False when the `.env` of a release is missing or was changed. After the loss of the key only the sizes are compared. */
export async function isEnvUnchanged(deps: Dependencies, sha: string): Promise<boolean> {
  const env = await deps.releases.readEnv(sha);
  const recorded = (await deps.releases.readRecord(sha))?.env;
  if (env === null || recorded === undefined) return env !== null;
  const found = await envDigestOf(deps, env);
  return found.bytes === recorded.bytes && (found.key !== recorded.key || found.mac === recorded.mac);
}
