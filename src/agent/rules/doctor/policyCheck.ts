import { isBelow, isUnseen, touches } from '../../../bundle/policy/hostPaths.rules.ts';
import type { HostPolicy } from '../../../api/hostPolicy.rules.ts';
import { type Check, checkResult, type Finding } from '../../../core/doctor.rules.ts';
import { policySummary } from '../bundle/policySummary.ts';

/** The policy of a host, and what of it the host has. */
export interface PolicyCheckFacts {
  policy: HostPolicy;
  configPath: string;
  /** What no permit reaches. */
  protectedPaths: readonly string[];
  /** Where `permittedDirectory` of each permitted path leads; null for one that is missing. */
  targets: ReadonlyMap<string, string | null>;
  /** Names of networks and volumes outside the project. */
  networks: ReadonlySet<string>;
  volumes: ReadonlySet<string>;
}

/** Checks that each permit can let something through, and each denial can refuse something. */
export function checkPolicy(facts: PolicyCheckFacts): Check {
  const { policy, configPath } = facts;
  const fix = `sudoedit ${configPath}`;
  const binds = (policy.permit.binds ?? []).flatMap((entry) => {
    const why = bindProblem(entry, facts);
    return why === null ? [] : [{ problem: `policy.permit.binds: ${entry} lets nothing through: ${why}`, fix }];
  });
  const findings = [
    ...binds,
    ...missingResources(facts),
    ...denialProblems(policy).map((problem) => ({ problem, fix })),
  ];
  return checkResult('policy', policySummary(policy), findings);
}

/** The part of a permitted path before its first wildcard. */
export function permittedDirectory(entry: string): string {
  const path = entry.replace(/:ro$/, '');
  const fixed = path.includes('*') ? path.slice(0, path.lastIndexOf('/', path.indexOf('*'))) : path;
  return fixed === '' ? '/' : fixed;
}

function bindProblem(entry: string, { protectedPaths, targets }: PolicyCheckFacts): string | null {
  const path = permittedDirectory(entry);
  const target = targets.get(path) ?? null;
  if (isUnseen(path)) return 'deployd cannot see where paths there lead';
  if (target === null) return `${path} does not exist`;
  if (target !== path) return `${path} leads to ${target}, which is what has to be permitted`;
  const isWhole = !entry.includes('*');
  const isOutOfReach = (own: string) => (isWhole ? touches(path, own) : path === own || isBelow(path, own));
  return protectedPaths.some(isOutOfReach)
    ? 'it belongs to deployd or to the container engine, or holds what does'
    : null;
}

function missingResources({ policy, networks, volumes }: PolicyCheckFacts): Finding[] {
  const missing = (kind: 'network' | 'volume', names: readonly string[], known: ReadonlySet<string>) =>
    names
      .filter((name) => !known.has(name))
      .map((name) => ({
        problem: `the ${kind} ${name}, which is permitted, does not exist`,
        fix: `docker ${kind} create ${name}`,
      }));
  const { permit } = policy;
  return [...missing('network', permit.networks ?? [], networks), ...missing('volume', permit.volumes ?? [], volumes)];
}

/** A container that `allow_privileged` gives every power takes the denied ones itself. */
function denialProblems({ deny }: HostPolicy): string[] {
  if (deny.includes('privileged')) return [];
  return deny
    .filter((denial) => denial === 'host_network' || denial === 'engine_socket')
    .map((denial) => `policy.deny: ${denial} does not bind a privileged container: deny privileged too`);
}
