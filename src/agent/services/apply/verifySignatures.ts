import { refusedFault } from '../../../../machines/fault.ts';
import type { DesiredState, Manifest } from '../../../../machines/types.ts';
import { judgeClaims, signatureRefusal } from '../../../signatures/judgement.rules.ts';
import { readTrust } from '../../../signatures/readTrust.ts';
import type { Dependencies } from '../dependencies.ts';
import { desiredShaOf } from './download.ts';

/**
 * Verifies who signed the archive, before it is unpacked; without `trust.bundles` nothing is asked or loaded (spec §18). The
 * claims of the signatures are judged by `requireSigners`, as soon as there is a manifest.
 */
export async function verifySignatures(
  { settings, tenancy, tick }: Dependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  if (settings.trust.bundles === null) return;
  const { trust, problems } = readTrust(settings.trust.bundles);
  const sha = desiredShaOf(desired);
  const signatures = await tenancy.signatures(sha, signal);
  const library = await import('../../../signatures/verifySignatures.ts');
  const { verified, faults } = library.verifySignatures(trust, sha, signatures);
  const signers = [...new Set(verified.map(({ signer }) => signer))];
  const all = [...faults, ...problems];
  const refusal = signatureRefusal({ threshold: trust.threshold, signers, count: signatures.length, faults: all });
  if (refusal !== null) throw refusedFault([refusal]);
  tick.signatures = { verified, faults: all };
}

/** Requires that enough signers signed just this manifest; returns who did, none where the host trusts no signatures. */
export function requireSigners({ settings, tick, recordDecision }: Dependencies, manifest: Manifest): string[] {
  if (settings.trust.bundles === null) return [];
  if (tick.signatures === null) throw new TypeError('the signatures of the bundle were not verified');
  const { signers, refusal } = judgeClaims(tick.signatures, manifest, settings.trust.bundles.threshold ?? 1);
  if (refusal !== null) throw refusedFault([refusal]);
  recordDecision({ word: 'signed', signers });
  return signers;
}
