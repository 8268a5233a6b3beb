import { type Check, checkResult, type Finding } from '../../../core/doctor.rules.ts';
import type { TrustSettings } from '../../../api/trust.rules.ts';
import { type Signed, trustSummary } from '../bundle/trustSummary.ts';

/** `trust.bundles` or `trust.images` of a host, and what of it the host has. */
export interface TrustCheckFacts {
  signed: Signed;
  settings: TrustSettings;
  configPath: string;
  /** One line for each file that cannot be used. */
  problems: readonly string[];
  /** The signer by each usable key file, as signatures are told. */
  keySigners: ReadonlyMap<string, string>;
  /** When the last authority and the last log of the trust root end; null for one that does not end, 1970 where there is none. */
  rootEnds: readonly { what: string; end: Date | null }[];
  /** Who signed the applied bundle, or its images; null while nothing is applied. */
  appliedSigners: readonly string[] | null;
  now: Date;
}

/** How long before its end a trust root has to be replaced, in days. */
const warningDays = 30;

/** Checks that enough signers can be verified, now and for the next weeks (spec §18). */
export function checkTrust(trusts: readonly TrustCheckFacts[]): Check {
  const summaries = trusts.flatMap((facts) => [trustSummary(facts.signed, facts.settings), ...idleKeys(facts)]);
  return checkResult('trust', summaries.join('; '), trusts.flatMap(findingsOf));
}

function findingsOf(facts: TrustCheckFacts): Finding[] {
  const fix = `sudoedit ${facts.configPath}`;
  const problems = [...facts.problems, ...thresholdProblems(facts)].map((problem) => ({ problem, fix }));
  return [...problems, ...rootFindings(facts)].map(({ problem, fix: cure }) => ({
    problem: `trust.${facts.signed}: ${problem}`,
    fix: cure,
  }));
}

function thresholdProblems({ settings, keySigners }: TrustCheckFacts): string[] {
  const { threshold = 1, identities = [] } = settings;
  const signers = new Set(keySigners.values()).size + identities.length;
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

/** A key that is replaced signs nothing any more, and can be removed. */
function idleKeys({ signed, keySigners, appliedSigners }: TrustCheckFacts): string[] {
  if (appliedSigners === null) return [];
  const what = signed === 'bundles' ? 'what is applied' : 'an image of what is applied';
  return [...keySigners].flatMap(([path, signer]) =>
    appliedSigners.includes(signer) ? [] : [`${path} did not sign ${what}`],
  );
}
