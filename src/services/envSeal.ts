import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { labelSalt } from '../adapters/salt.ts';
import type { EnvSeal } from '../rules/record.ts';
import type { Tools } from './tools.ts';

/** What a release remembers of its `.env`, to know it again (spec §12). */
export async function sealOf({ settings }: Pick<Tools, 'settings'>, env: string): Promise<EnvSeal> {
  const salt = await labelSalt(join(settings.state_dir, settings.env));
  return { bytes: Buffer.byteLength(env), mac: createHmac('sha256', salt).update(env).digest('hex') };
}

/** False where somebody, or a bad disk, has changed the `.env` of a release, or it is gone. */
export async function isEnvAsWritten(tools: Tools, sha: string): Promise<boolean> {
  const env = await tools.releases.readEnv(sha);
  const record = await tools.releases.readRecord(sha);
  if (env === null || record?.env === undefined) return env !== null;
  return (await sealOf(tools, env)).mac === record.env.mac;
}
