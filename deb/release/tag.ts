import { version } from '../../src/version.ts';
import { carryOut, Mishap } from '../mishap.ts';

/** Why a tag is not that of this version, null where it is. */
export function judgeTag(tag: string, built: string): string | null {
  if (tag === `v${built}`) return null;
  return `tag ${tag || '(none)'} is not v${built}: the agent here is version ${built}; raise it in package.json, or tag v${built}`;
}

if (import.meta.main)
  await carryOut(async () => {
    const fault = judgeTag(process.argv[2] ?? '', version);
    if (fault !== null) throw new Mishap(fault);
    console.log(`tag v${version} is that of the agent`);
  });
