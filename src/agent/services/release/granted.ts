import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import { labelSalt } from '../../adapters/files/salt.ts';
import { grantedOf, sealed, type Granted } from '../../rules/created/granted.ts';
import type { Tools } from '../tools.ts';

/** How a fact is written that holds a secret: keyed, so that it can be compared and tells nothing. */
export async function hiding({ settings }: Tools): Promise<(text: string) => string> {
  const salt = await labelSalt(join(settings.state_dir, settings.env));
  return (text) => `hidden ${createHmac('sha256', salt).update(text).digest('hex')}`;
}

/** What a model grants, as it may be written to a file. */
export async function withoutSecrets(tools: Tools, granted: Granted): Promise<Granted> {
  const hide = await hiding(tools);
  const redactor = tools.vault.redactor();
  return sealed(granted, (text) => (redactor.redact(text) === text ? text : hide(text)));
}

/** What the model of a release grants: as it was judged, or rendered now for a release that was made without noting it. */
export async function grantedBy(
  tools: Tools,
  { sha, release }: { sha: string; release: ComposeRelease },
  signal: AbortSignal,
): Promise<Granted> {
  const noted = await tools.releases.readGranted(sha);
  if (noted !== null) return noted;
  const model = await tools.compose.model(release, signal);
  const granted = await withoutSecrets(tools, grantedOf(model, release.dir));
  await tools.releases.writeGranted(sha, granted);
  return granted;
}
