import type { TrustSettings } from '../../../protocol/trustSettings.ts';

/** Whose signatures a host trusts, in one line. */
export function trustSummary({ threshold = 1, keys = [], identities = [] }: TrustSettings): string {
  const signers = [...keys, ...identities.map(({ issuer, subject }) => `${subject} (${issuer})`)];
  return `bundles signed by ${signers.length === threshold ? 'all' : String(threshold)} of ${signers.join(', ')}`;
}
