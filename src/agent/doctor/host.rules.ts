import type { Violation } from '../../api/agentSchemas.ts';
import type { HostPolicy } from '../../api/hostPolicy.rules.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { isBelow, isUnseen, touches } from '../../bundle/policy/policyHost.rules.ts';
import {
  type Check,
  checkResult,
  excessPermissions,
  type FileFacts,
  type Finding,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import type { Signed } from '../config/configKeys.ts';
import { describeViolation } from '../state/state.rules.ts';
import { policySummary, trustSummary } from '../status/status.rules.ts';

/** `trust.bundles` or `trust.images` of a host, and the key files and trust roots that exist. */
export interface TrustCheckFacts {
  signed: Signed;
  settings: TrustSettings;
  configPath: string;
  /** One line for each file that cannot be used. */
  problems: readonly string[];
  /** Fingerprints of usable key files and trust roots, by path, as shown in messages. */
  fingerprints: ReadonlyMap<string, string>;
  /**
   * When the last authority and the last log of the trust root expire; null if one does not expire, 1970 if there is no
   * authority or log.
   */
  rootEnds: readonly { what: string; end: Date | null }[];
  now: Date;
}

/** How many days before its expiry a trust root has to be replaced. */
const warningDays = 30;

/** Where the steps against a stolen key, and for the change of a key, are. */
const unsignedFix =
  'promote a bundle with enough trusted signatures; after a theft see "Respond to a stolen key" in host-policy.md';

/**
 * Checks that enough signers can be verified, now and for the next weeks, and that they have signed what runs here (spec
 * §18).
 */
export function checkTrust(trusts: readonly TrustCheckFacts[], violations: readonly Violation[]): Check {
  const summaries = trusts.map(({ signed, settings, fingerprints }) => trustSummary(signed, settings, fingerprints));
  const untrusted = violations.map(({ detail }) => ({ problem: detail, fix: unsignedFix }));
  return checkResult('trust', summaries.join('; '), [...untrusted, ...trusts.flatMap(findingsOf)]);
}

function findingsOf(facts: TrustCheckFacts): Finding[] {
  const fix = `sudoedit ${facts.configPath}`;
  const problems = [...facts.problems, ...thresholdProblems(facts)].map((problem) => ({ problem, fix }));
  return [...problems, ...rootFindings(facts)].map(({ problem, fix: cure }) => ({
    problem: `trust.${facts.signed}: ${problem}`,
    fix: cure,
  }));
}

function thresholdProblems({ settings, fingerprints }: TrustCheckFacts): string[] {
  const { threshold = 1, keys = [], identities = [] } = settings;
  const signers = new Set(keys.flatMap((path) => fingerprints.get(path) ?? [])).size + identities.length;
  if (signers >= threshold) return [];
  return [`the threshold of ${threshold} cannot be met: ${signers} different signers can be verified`];
}

function rootFindings({ settings, rootEnds, now }: TrustCheckFacts): Finding[] {
  const fix = `sudo install -m 0644 trusted_root.json ${settings.root ?? ''}`;
  return rootEnds.flatMap(({ what, end }) => {
    if (end === null || end.getTime() - now.getTime() > warningDays * 86_400_000) return [];
    if (end.getTime() === 0) return [{ problem: `the trust root has no ${what}`, fix }];
    const verb = end < now ? 'ended' : 'ends';
    return [{ problem: `the last ${what} of the trust root ${verb} at ${end.toISOString()}`, fix }];
  });
}

/** The policy of a host, and the resources of the host that it refers to. */
export interface PolicyCheckFacts {
  policy: HostPolicy;
  configPath: string;
  /** Paths that no permit can allow. */
  protectedPaths: readonly string[];
  /** The real path of `permittedDirectory` for each permitted path; null if it is missing. */
  targets: ReadonlyMap<string, string | null>;
  /** Names of networks and volumes outside the project. */
  networks: ReadonlySet<string>;
  volumes: ReadonlySet<string>;
  /** Violations of the policy by the applied bundle; null if the policy has changed since the last tick. */
  violations: readonly Violation[] | null;
}

/** Checks that each permit can have an effect, and that each denial can refuse something. */
export function checkPolicy(facts: PolicyCheckFacts): Check {
  const { policy, configPath } = facts;
  const fix = `sudoedit ${configPath}`;
  const binds = (policy.permit.binds ?? []).flatMap((entry) => {
    const why = bindProblem(entry, facts);
    return why === null ? [] : [{ problem: `policy.permit.binds: ${entry} lets nothing through: ${why}`, fix }];
  });
  const findings = [
    ...violationFindings(facts.violations),
    ...binds,
    ...missingResources(facts),
    ...denialProblems(policy).map((problem) => ({ problem, fix })),
  ];
  return checkResult('policy', policySummary(policy), findings);
}

function violationFindings(violations: PolicyCheckFacts['violations']): Finding[] {
  const problem = 'the policy has changed since the last tick, which checks the applied bundle';
  if (violations === null) return [{ problem, fix: 'sudo deployd run --once' }];
  const fix = 'promote a bundle that does not need it, or permit it again';
  return violations.map((each) => ({ problem: describeViolation(each), fix }));
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
        fix: `sudo docker ${kind} create ${name}`,
      }));
  const { permit } = policy;
  return [...missing('network', permit.networks ?? [], networks), ...missing('volume', permit.volumes ?? [], volumes)];
}

/** A container with every privilege by `allow_privileged` can take the denied ones itself. */
function denialProblems({ deny }: HostPolicy): string[] {
  if (deny.includes('privileged')) return [];
  return deny
    .filter((denial) => denial === 'host_network' || denial === 'engine_socket')
    .map((denial) => `policy.deny: ${denial} does not bind a privileged container: deny privileged too`);
}

/** Checks that only the agent may read the credentials. */
export function checkCredentialFiles(token: FileFacts, grant: FileFacts, { name }: ProgramUser): Check {
  if (token.found === 'hidden' || grant.found === 'hidden')
    return unknownCheck('credential files', 'they are not for this user: use sudo');
  const grantIsForeign = grant.found !== null && grant.readable === false;
  return checkResult(
    'credential files',
    [token, grant]
      .filter(({ found }) => found)
      .map(({ path }) => path)
      .join(', '),
    [
      ...excessPermissions(token, 0o077, 600),
      ...excessPermissions(grant, 0o077, 600),
      ...(grantIsForeign
        ? [{ problem: `${name} cannot read the grant ${grant.path}`, fix: `sudo chown ${name}: ${grant.path}` }]
        : []),
    ],
  );
}
