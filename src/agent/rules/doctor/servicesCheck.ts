import { type Check, checkResult, type Fact, type Finding, unknownCheck } from '../../../core/doctor.rules.ts';
import type { ReportedContainer, ServiceProblem } from '../../../../machines/types.ts';

/** What decides how a service that is missing comes back. */
export interface HealingFacts {
  /** Config `heal`. */
  heals: boolean;
  configPath: string;
}

/** What runs, and what is wrong with it. */
export interface ServicesFacts {
  containers: readonly ReportedContainer[];
  problems: readonly Pick<ServiceProblem, 'service' | 'detail' | 'cure'>[];
}

/** Checks that every service of the applied release runs and is healthy, by the judgement of a tick (spec §12.4). */
export function checkServices(seen: Fact<ServicesFacts>, facts: HealingFacts): Check {
  const name = 'services';
  if ('unknown' in seen) return unknownCheck(name, seen.unknown);
  const { containers, problems } = seen.known;
  const detail = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  return checkResult(
    name,
    detail,
    problems.map((problem) => findingOf(problem, facts)),
  );
}

function findingOf(
  { service, detail, cure }: ServicesFacts['problems'][number],
  { heals, configPath }: HealingFacts,
): Finding {
  const problem = `${service}: ${detail}`;
  if (cure === 'accept') return { problem, fix: 'sudo deployd accept-volumes' };
  if (detail !== 'missing' && cure !== 'recreate') return { problem, fix: `sudo deployd logs ${service}` };
  return { problem, fix: heals ? 'sudo deployd run --once' : `sudoedit ${configPath} (heal: true)` };
}
