import { version } from '../../src/core/commandLine.ts';
import { runScript, UserError } from '../userError.ts';

/** Why a tag does not match the version; null if it does. */
export function validateTag(tag: string, built: string): string | null {
  if (tag === `v${built}`) return null;
  return `tag ${tag || '(none)'} is not v${built}: the agent here is version ${built}; raise it in package.json, or tag v${built}`;
}

if (import.meta.main)
  await runScript(async () => {
    const error = validateTag(process.argv[2] ?? '', version);
    if (error !== null) throw new UserError(error);
    console.log(`tag v${version} is the version of the agent`);
  });
