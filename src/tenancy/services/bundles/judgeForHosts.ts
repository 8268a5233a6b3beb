import { setImmediate } from 'node:timers/promises';
import type { Refusal } from '../../../../machines/refusals.ts';
import { planFor } from '../../../bundle/planAlone.ts';
import type { OrchestratorName } from '../../../bundle/rules/compose/policy/policyHost.ts';
import type { BundleFacts } from '../../../bundle/rules/plan/plan.ts';
import type { CheckInRequest, ReportedPolicy } from '../../../protocol/checkIn.ts';
import { defaultPolicy, type HostPolicy } from '../../../protocol/hostPolicy.ts';
import { commonRefusals, policyOf, policyWarnings } from '../../rules/hostPolicies.ts';
import { exceededLimit, formatHostWarnings, type BundleSize, type RefusingHost } from '../../rules/hostWarnings.ts';
import { listCheckIns } from '../../store/checkIns.ts';
import type { Dependencies } from '../dependencies.ts';

/** Check-ins that are read at a time: each may have a line for each of a hundred containers. */
const PAGE_SIZE = 500;
/** Different policies that a bundle is judged by, for each takes some milliseconds; nothing is told of hosts of more. */
const MAX_POLICIES = 100;

/** A bundle as it was pushed or packed. */
export interface JudgedBundle {
  facts: BundleFacts;
  size: BundleSize;
}

/** The judgement of a bundle for an env. */
export interface EnvJudgement {
  /** What no host lifts, be it a host of this env or one without a policy. */
  refusals: Refusal[];
  /** What some hosts of the env would refuse. */
  warnings: string[];
}

/** Judges a bundle by the policies that the hosts of an env told last, each policy once, and as for a swarm where they manage one. */
export async function judgeForHosts(
  { store }: Pick<Dependencies, 'store'>,
  env: string,
  bundle: JudgedBundle,
): Promise<EnvJudgement> {
  const hosts: TellingHost[] = [];
  let after: string | null = null;
  do {
    const page = await listCheckIns(store, { env, after, limit: PAGE_SIZE });
    for (const { id, check_in } of page) hosts.push(...tellingHostOf(id, check_in));
    after = page.length < PAGE_SIZE ? null : (page.at(-1)?.id ?? null);
  } while (after !== null);
  const { refusals, refusing } = await judgeByPolicies(hosts, bundle);
  return {
    refusals,
    warnings: formatHostWarnings([...hosts.flatMap((host) => exceeding(host, bundle.size)), ...refusing]),
  };
}

/** A host that has told its limits and its policy. */
interface TellingHost {
  id: string;
  name: string;
  reported: ReportedPolicy;
  policy: HostPolicy;
  orchestrator: OrchestratorName;
}

function tellingHostOf(id: string, checkIn: string | null): TellingHost[] {
  if (checkIn === null) return [];
  const { host, policy: reported, swarm } = JSON.parse(checkIn) as CheckInRequest;
  const orchestrator = swarm === undefined ? 'compose' : 'swarm';
  return reported === undefined ? [] : [{ id, name: host.name, reported, policy: policyOf(reported), orchestrator }];
}

function exceeding({ id, name, reported }: TellingHost, size: BundleSize): RefusingHost[] {
  const detail = exceededLimit(size, reported);
  return detail === null ? [] : [{ id, name, code: 'BUNDLE_UNSAFE', detail }];
}

const anyTellingHost = { policy: defaultPolicy, orchestrator: 'compose' } as const;

async function judgeByPolicies(hosts: TellingHost[], { facts }: JudgedBundle) {
  const kinds = Map.groupBy(hosts, ({ policy, orchestrator }) => JSON.stringify([policy, orchestrator]));
  const groups = [...kinds.values()].slice(0, MAX_POLICIES);
  const judged: { policy: HostPolicy; members: TellingHost[]; refusals: Refusal[] }[] = [];
  for (const members of groups) {
    const [{ policy, orchestrator } = anyTellingHost] = members;
    judged.push({ policy, members, refusals: planFor(facts, policy, orchestrator).refusals });
    await setImmediate();
  }
  // Where all are in a swarm, so is the host without a policy.
  const isCompose = hosts.length === 0 || hosts.some(({ orchestrator }) => orchestrator === 'compose');
  const anyHost = planFor(facts, defaultPolicy, isCompose ? 'compose' : 'swarm').refusals;
  const common = commonRefusals(
    anyHost,
    judged.map(({ refusals }) => refusals),
  );
  const refusing = judged.flatMap(({ policy, members, refusals }): RefusingHost[] => {
    const warnings = policyWarnings(policy, refusals, { manifest: facts.manifest, common });
    return members.flatMap(({ id, name }) => warnings.map((warning) => ({ id, name, ...warning })));
  });
  return { refusals: common, refusing };
}
