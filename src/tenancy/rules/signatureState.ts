/** Whether the hosts of its env would apply a bundle, as far as signatures are concerned. */
export type SignatureState = (typeof signatureStates)[number];

/** All of them. */
export const signatureStates = ['not required', 'awaiting signature', 'signed'] as const;

/** The state of a bundle by its different signers, and how many of them its hosts demand; null if they demand none. */
export function signatureStateOf(signers: readonly string[], threshold: number | null): SignatureState {
  if (threshold === null) return 'not required';
  return signers.length < threshold ? 'awaiting signature' : 'signed';
}
