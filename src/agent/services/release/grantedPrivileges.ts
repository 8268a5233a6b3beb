import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import {
  grantedPrivilegesOf,
  hideSecrets,
  networkDefinitionsOf,
  type GrantedPrivileges,
} from '../../rules/createdContainers/grantedPrivileges.ts';
import { Fault } from '../../../../machines/fault.ts';
import { isInterruption } from '../../../../machines/outcomes.ts';
import type { NetworkDefinitions } from '../../rules/createdContainers/networkPlan.ts';
import type { Dependencies } from '../dependencies.ts';
import { loadKeyedDigest } from './keyedDigest.ts';

/** Replaces a text that contains a secret with its keyed digest, which can be compared and reveals nothing. */
export async function createSecretHasher(deps: Dependencies): Promise<(text: string) => string> {
  const digest = await loadKeyedDigest(deps);
  return (text) => `hidden ${digest.of(text)}`;
}

/** The granted privileges with secrets replaced by digests, so that they may be written to a file. */
export async function withoutSecrets(deps: Dependencies, granted: GrantedPrivileges): Promise<GrantedPrivileges> {
  const hide = await createSecretHasher(deps);
  const redactor = deps.vault.redactor();
  return hideSecrets(granted, (text) => (redactor.redact(text) === text ? text : hide(text)));
}

/** Privileges that the model of a release grants: recorded at validation or, for releases without a record, rendered now. */
export async function readGrantedPrivileges(
  deps: Dependencies,
  { sha, release }: { sha: string; release: ComposeRelease },
  signal: AbortSignal,
): Promise<GrantedPrivileges> {
  const recorded = await deps.releases.readGrantedPrivileges(sha);
  if (recorded !== null) return recorded;
  const model = await deps.compose.renderModel(release, signal);
  const granted = await withoutSecrets(deps, grantedPrivilegesOf(model, release.dir));
  await deps.releases.writeGrantedPrivileges(sha, granted);
  return granted;
}

/**
 * The configurations of a release's networks, as `readGrantedPrivileges`; null where an older version recorded the release and
 * compose cannot render it now.
 */
export async function readNetworkDefinitions(
  deps: Dependencies,
  { sha, release }: { sha: string; release: ComposeRelease },
  signal: AbortSignal,
): Promise<NetworkDefinitions | null> {
  try {
    const granted = await readGrantedPrivileges(deps, { sha, release }, signal);
    if (granted.definitions) return granted.definitions;
    const definitions = networkDefinitionsOf(await deps.compose.renderModel(release, signal));
    const completed = await withoutSecrets(deps, { ...granted, definitions });
    await deps.releases.writeGrantedPrivileges(sha, completed);
    return completed.definitions ?? null;
  } catch (error) {
    if (!(error instanceof Fault) || isInterruption(error)) throw error;
    return null;
  }
}
