import { failedFault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import type { Credentials } from '../../adapters/state/credentials.ts';
import type { Releases } from '../../adapters/release/releases.ts';
import type { Vault } from '../../secrets/vault.ts';
import { registerValuesForRedaction } from './envRedaction.ts';

/** Where the secrets of a host are, and what is told of them. */
interface HostSecrets {
  credentials: Credentials;
  releases: Releases;
  vault: Vault;
}

/**
 * Registers the token, and the values of every release on the disk, for redaction: what a container has printed may be of any of
 * them. Throws a fault where one of these cannot be read: then nothing may be shown.
 */
export async function registerHostSecrets({ credentials, releases, vault }: HostSecrets): Promise<void> {
  const token = await credentials.readToken();
  if (token !== null) vault.registerForRedaction(token);
  for (const sha of await releases.listIfExists()) {
    for (const env of [await releases.readEnv(sha), await releases.readBackedUpEnv(sha)])
      if (env !== null && !(await registerValuesForRedaction({ releases, vault }, sha, env))) throw unreadable(sha);
  }
}

function unreadable(sha: Sha): Error {
  return failedFault(
    'RELEASE_INCOMPLETE',
    `the .env of release ${sha} is not the agent's: what is secret is not known`,
  );
}
