import type { TrustSettings } from '../../../api/trust.rules.ts';

/** Of what a host demands signatures; null: of none. */
export interface HostTrust {
  readonly bundles: TrustSettings | null;
  readonly images: TrustSettings | null;
}

/** Of what signatures are demanded. */
export type Signed = keyof HostTrust;

/** The trusts of a host that are set, by what they demand signatures of. */
export function trustsOf(trust: HostTrust): [Signed, TrustSettings][] {
  return (['bundles', 'images'] as const).flatMap((signed) => {
    const settings = trust[signed];
    return settings === null ? [] : [[signed, settings]];
  });
}

/** Whose signatures a host trusts, in one line. */
export function trustSummary(signed: Signed, { threshold = 1, keys = [], identities = [] }: TrustSettings): string {
  const signers = [...keys, ...identities.map(({ issuer, subject }) => `${subject} (${issuer})`)];
  return `${signed} signed by ${signers.length === threshold ? 'all' : String(threshold)} of ${signers.join(', ')}`;
}
