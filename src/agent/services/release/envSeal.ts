import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import { labelSalt } from '../../adapters/files/salt.ts';
import type { EnvSeal } from '../../rules/release/record.ts';
import type { Tools } from '../tools.ts';

/** What a release remembers of its `.env`, to know it again (spec §12). */
export async function sealOf({ settings }: Pick<Tools, 'settings'>, env: string): Promise<EnvSeal> {
  const salt = await labelSalt(join(settings.state_dir, settings.env));
  const mac = createHmac('sha256', salt).update(env).digest('hex');
  return { bytes: Buffer.byteLength(env), mac, key: createHash('sha256').update(salt).digest('hex').slice(0, 16) };
}

/** False where somebody, or a bad disk, has changed the `.env` of a release, or it is gone. With another key only sizes compare. */
export async function isEnvAsWritten(tools: Tools, sha: string): Promise<boolean> {
  const env = await tools.releases.readEnv(sha);
  const noted = (await tools.releases.readRecord(sha))?.env;
  if (env === null || noted === undefined) return env !== null;
  const found = await sealOf(tools, env);
  return found.bytes === noted.bytes && (found.key !== noted.key || found.mac === noted.mac);
}
