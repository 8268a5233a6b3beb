import type { Manifest, Refusal } from '../../../../machines/words.ts';

/** ROLLBACK_REFUSED for a bundle older than the newest ever applied on this host, unless it may go back (spec §9). */
export function judgeRollback(manifest: Manifest, highestSequence: number | null): Refusal | null {
  const { sequence, version, agent } = manifest;
  if (highestSequence === null || sequence >= highestSequence || agent.allow_rollback) return null;
  const detail = `sequence ${sequence} (version ${version}) is lower than ${highestSequence}, the highest applied here`;
  return { code: 'ROLLBACK_REFUSED', detail };
}
