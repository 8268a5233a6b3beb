import type { Refusal } from '../../machines/refusals.ts';
import { bundleFactsOf, type UnpackedBundle } from './readBundle.ts';
import type { DiffSide } from './rules/diff/bundleDiff.ts';

/**
 * One side of a comparison, whatever hosts would refuse of the bundle; why it cannot be compared if its manifest or compose
 * files cannot be read. Throws Fault `stopped` on abort.
 */
export async function diffSideOf(
  bundle: UnpackedBundle | { refusal: Refusal },
  signal: AbortSignal,
): Promise<DiffSide | { refusals: Refusal[] }> {
  if ('refusal' in bundle) return { refusals: [bundle.refusal] };
  const facts = await bundleFactsOf(bundle, signal);
  return facts.refusals.length > 0 ? { refusals: facts.refusals } : { facts, contents: bundle.contents };
}
