import type { Plan } from '../../../bundle/rules/plan/plan.ts';
import type { TrustSettings } from '../../../protocol/trustSettings.ts';
import { judgeClaims } from '../../../signatures/judgeClaims.ts';
import { readSignatureFile } from '../../../signatures/readSignatureFile.ts';
import { readTrust } from '../../../signatures/readTrust.ts';
import { SignatureFault } from '../../../signatures/signatureFault.ts';

/**
 * A plan with what the host's trust says of the signatures in these files. Without files it says that none were judged;
 * without trust, or for a directory, which has no digest to sign, it is the plan as it was.
 */
export async function withSignatures(
  plan: Plan,
  trusted: TrustSettings | null,
  files: readonly string[],
): Promise<Plan> {
  if (trusted === null || plan.sha === null || plan.bundle === null) return plan;
  if (files.length === 0) return { ...plan, not_judged: [notGiven, ...plan.not_judged] };
  const { trust, problems } = readTrust(trusted);
  const { signatures, unreadable } = readFiles(files);
  const { verifySignatures } = await import('../../../signatures/verifySignatures.ts');
  const { verified, faults } = verifySignatures(trust, plan.sha, signatures);
  const all = [...faults, ...unreadable, ...problems];
  const { signers, refusal } = judgeClaims({ verified, faults: all }, plan.bundle, trust.threshold);
  return { ...plan, signers, refusals: [...(refusal ? [refusal] : []), ...plan.refusals] };
}

const notGiven: Plan['not_judged'][number] = {
  codes: ['SIGNATURE_REFUSED'],
  why: 'name the signatures with --signatures',
};

function readFiles(files: readonly string[]): { signatures: unknown[]; unreadable: string[] } {
  const [signatures, unreadable]: [unknown[], string[]] = [[], []];
  for (const file of files) {
    try {
      signatures.push(readSignatureFile(file));
    } catch (error) {
      if (!(error instanceof SignatureFault)) throw error;
      unreadable.push(error.message);
    }
  }
  return { signatures, unreadable };
}
