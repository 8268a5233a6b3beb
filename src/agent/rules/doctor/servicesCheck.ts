import { checkResult, unknownCheck, type Check, type Finding } from '../../../doctor/diagnosis.ts';
import type { Fact } from '../../../platform/fact.ts';
import type { SeenServices } from '../status/status.ts';
import type { ServiceTrouble } from '../status/serviceTrouble.ts';

/** What decides how a service that is missing comes back. */
export interface HealingFacts {
  /** Config `heal`. */
  heals: boolean;
  configPath: string;
}

/** Checks that every service of the applied release runs and is healthy, by the judgement of a tick (spec §12.4). */
export function checkServices(seen: Fact<SeenServices>, facts: HealingFacts): Check {
  const name = 'services';
  if ('unknown' in seen) return unknownCheck(name, seen.unknown);
  const { containers, troubles } = seen.known;
  const detail = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  return checkResult(
    name,
    detail,
    troubles.map((trouble) => findingOf(trouble, facts)),
  );
}

function findingOf({ service, detail }: ServiceTrouble, { heals, configPath }: HealingFacts): Finding {
  const problem = `${service}: ${detail}`;
  if (detail !== 'missing') return { problem, fix: `sudo deployd logs ${service}` };
  return { problem, fix: heals ? 'sudo deployd run --once' : `sudoedit ${configPath} (heal: true)` };
}
