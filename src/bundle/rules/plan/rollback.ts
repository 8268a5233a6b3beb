import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';
import type { Denial } from '../../../protocol/hostPolicy.ts';
import type { Manifest } from '../../../../machines/types.ts';

/** ROLLBACK_REFUSED for a bundle older than the newest applied on this host, unless it allows a rollback and the host does not
 * deny that (spec §9). */
export function validateRollback(
  manifest: Manifest,
  highestSequence: number | null,
  deny: readonly Denial[] = [],
): Refusal | null {
  const { sequence, version, agent } = manifest;
  const isDenied = deny.includes('rollback');
  if (highestSequence === null || sequence >= highestSequence || (agent.allow_rollback && !isDenied)) return null;
  const text = `sequence ${sequence} (version ${version}) is lower than ${highestSequence}, the highest applied here`;
  const cure = isDenied
    ? 'raise the sequence, as policy.deny: rollback of this host outlives the flags of the bundle'
    : 'raise the sequence, or set agent.allow_rollback in manifest.json';
  return refusalWith('ROLLBACK_REFUSED', [{ text, cure }]);
}
