import type { Plan } from '../../../bundle/rules/plan/plan.ts';
import type { TrustSettings } from '../../../protocol/trustSettings.ts';
import { judgeFiles } from '../../../signatures/judgeFiles.ts';
import { readTrust } from '../../../signatures/readTrust.ts';

/**
 * A plan with what the host's trust says of the signatures in these files. Without files it says that none were judged;
 * without trust, or for a directory, which has no digest to sign, it is the plan as it was.
 */
export async function withSignatures(
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
