import type { Refusal } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';

/** ROLLBACK_REFUSED for a bundle older than the newest applied on this host, unless it allows a rollback (spec §9). */
export function validateRollback(manifest: Manifest, highestSequence: number | null): Refusal | null {
  const { sequence, version, agent } = manifest;
  if (highestSequence === null || sequence >= highestSequence || agent.allow_rollback) return null;
  const detail = `sequence ${sequence} (version ${version}) is lower than ${highestSequence}, the highest applied here`;
  return { code: 'ROLLBACK_REFUSED', detail };
}
