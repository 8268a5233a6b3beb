import { failedFault } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import { parseEnvFile } from '../secrets/envFile.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Credentials } from '../token/credentials.ts';
import type { Releases } from './releases.ts';

/** Where the secrets of releases are, and who redacts them. */
interface EnvReader {
  readonly releases: Releases;
  readonly vault: Vault;
}

/** The locations of all secrets of a host. */
interface HostSecrets extends EnvReader {
  readonly credentials: Credentials;
}

/** Registers the secrets in a release's `.env` for redaction, before compose output is read. False when `.env` is unreadable. */
export async function registerEnvForRedaction({ releases, vault }: EnvReader, sha: string): Promise<boolean> {
  return registerValuesForRedaction({ releases, vault }, sha, await releases.readEnv(sha));
}

/** The same for the text of an `.env` that a release has or had. */
async function registerValuesForRedaction(
  { releases, vault }: EnvReader,
  sha: string,
  env: string | null,
): Promise<boolean> {
  const values = parseEnvFile(env ?? '');
  if (values === null) return false;
  const { variables = {} } = (await releases.readRecord(sha)) ?? {};
  const secrets = [...values].filter(([name]) => !name.startsWith('DEPLOYD_') && !Object.hasOwn(variables, name));
  for (const [, value] of secrets) vault.registerForRedaction(value);
  return true;
}

/**
 * Registers the token, and the values of every release on disk, for redaction: the output of a container may contain
 * any of them. Throws a fault if one of these cannot be read: then nothing may be shown.
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
