import type { Plan } from '../../../bundle/plan/plan.rules.ts';
import type { TrustSettings } from '../../../api/trust.rules.ts';
import { judgeFiles } from '../../../signatures/signatureFiles.ts';
import { readTrust } from '../../../signatures/readTrust.ts';
import type { HostTrust } from '../../rules/bundle/trustSummary.ts';

/**
 * A plan with what the host's trust says of the signatures in these files. Without files it says that none were judged, as it
 * says of those of images. Without trust it is the plan as it was; so it is of `trust.bundles` for a directory, which has no
 * digest to sign.
 */
export async function withSignatures(plan: Plan, trust: HostTrust, files: readonly string[]): Promise<Plan> {
  const judged = await withBundleSignatures(plan, trust.bundles, files);
  if (trust.images === null || plan.bundle === null) return judged;
  return { ...judged, not_judged: [ofImages, ...judged.not_judged] };
}

async function withBundleSignatures(
  plan: Plan,
  trusted: TrustSettings | null,
  files: readonly string[],
): Promise<Plan> {
  const { sha, bundle } = plan;
  if (trusted === null || sha === null || bundle === null) return plan;
  if (files.length === 0) return { ...plan, not_judged: [notGiven, ...plan.not_judged] };
  const { signers, refusal } = await judgeFiles(readTrust(trusted), { ...bundle, sha256: sha }, files);
  return { ...plan, signers, refusals: [...(refusal ? [refusal] : []), ...plan.refusals] };
}

const notGiven: Plan['not_judged'][number] = {
  codes: ['SIGNATURE_REFUSED'],
  why: 'name the signatures with --signatures',
};

const ofImages: Plan['not_judged'][number] = {
  codes: ['SIGNATURE_REFUSED'],
  why: 'signatures of images are in their registries, which an apply asks',
};
