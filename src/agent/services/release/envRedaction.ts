import { parseEnvFile } from '../../rules/bundle/envFile.ts';
import type { Dependencies } from '../dependencies.ts';

/** Registers the secrets in a release's `.env` for redaction, before compose output is read. False when `.env` is unreadable. */
export async function registerEnvForRedaction({ releases, vault }: EnvReader, sha: string): Promise<boolean> {
  return registerValuesForRedaction({ releases, vault }, sha, await releases.readEnv(sha));
}

/** The same for the text of an `.env` that a release has or had. */
export async function registerValuesForRedaction(
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

type EnvReader = Pick<Dependencies, 'releases' | 'vault'>;
