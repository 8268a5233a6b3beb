import { addKey } from '../credentials/keyRing.ts';
import { addAuditEntry } from '../store/audit.ts';
import { changeBackend } from '../store/backends.ts';
import { listEnvs } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { deleteAllSessions } from '../store/sessions.ts';
import { cancelStep } from '../store/pendingSteps.ts';
import {
  deleteAllSigningKeys,
  listSecretDestructions,
  revokeAllOperators,
  skipGenerations,
  skipSequences,
} from '../store/restored.ts';
import { changeRollout, listActiveRollouts } from '../store/rollouts.ts';
import { addAdministrator } from './administrators.ts';
import { auditEntry, byService } from './audit.ts';
import { ADMINISTRATOR } from './initializeStore.ts';

/** More than an env gives from a backup to its restore, also where sequences are times in milliseconds; easy to see. */
export const SEQUENCE_GAP = 10_000_000_000;
/** More kits than a backend has from a backup to its restore. */
export const GENERATION_GAP = 1000;

/** What an operator must know of a store that was restored. */
export interface RestoredStore {
  /** Token of the new administrator, which is not kept. */
  token: string;
  revokedOperators: number;
  /** Envs whose secrets were about to be destroyed, which is not done any more. */
  sparedEnvs: string[];
  /** Envs whose rollouts are halted: hosts may be further than the backup knows. */
  haltedEnvs: string[];
  /** Digests of the desired bundles by env. */
  desired: { env: string; sha256: string }[];
}

/**
 * Makes a store safe that was restored from a backup, which knows nothing of what came after it: no sequence and no
 * generation is given twice, whatever was signed is void, no operator's token is valid, no rollout goes on by itself, and no
 * secrets are destroyed for a reason that may have passed. Hosts keep their tokens: those that were superseded or retired are revoked at the
 * secretstore.
 */
export function settleRestore(store: Store, keyFile: Uint8Array, now: number): Promise<RestoredStore> {
  return store.transaction().execute(async (work) => {
    await skipSequences(work, SEQUENCE_GAP);
    await skipGenerations(work, GENERATION_GAP);
    await deleteAllSigningKeys(work);
    await addKey(work, keyFile, now);
    const sparedEnvs = await spareSecrets(work, now);
    const haltedEnvs = await haltRollouts(work, now);
    await deleteAllSessions(work);
    const revokedOperators = await revokeAllOperators(work, now);
    const token = await addAdministrator(work, { name: ADMINISTRATOR, act: 'service.restore', now });
    if (token === null) throw new Error('every operator was revoked, and yet the name is taken');
    const envs = await listEnvs(work, null);
    const desired = envs.flatMap(({ name, desired_sha }) =>
      desired_sha === null ? [] : [{ env: name, sha256: desired_sha }],
    );
    return { token, revokedOperators, sparedEnvs, haltedEnvs, desired };
  });
}

/** Halts every rollout that is not halted already. Returns the envs. */
async function haltRollouts(work: Store, now: number): Promise<string[]> {
  const rollouts = await listActiveRollouts(work, null);
  for (const row of rollouts) {
    const halted = await changeRollout(work, row, { event: { type: 'HALT', by: 'restore' }, now });
    if (halted === null) continue;
    const entry = auditEntry({ clock: () => now }, byService('rollout.halt'), { target: row.id, env: row.env });
    await addAuditEntry(work, entry);
  }
  return rollouts.map(({ env }) => env);
}

/** Counts the destruction of secrets as done; the env may have got new ones since. Returns the envs. */
async function spareSecrets(work: Store, now: number): Promise<string[]> {
  const destructions = await listSecretDestructions(work);
  for (const { backendId, env } of destructions) {
    await cancelStep(work, backendId ?? env, backendId === null ? 'destroyEnvSecrets' : 'destroySecrets');
    if (backendId !== null)
      await changeBackend(work, backendId, { event: { type: 'FINISH_STEP', step: 'destroySecrets' }, now });
    const caller = byService('env.spareSecrets');
    await addAuditEntry(work, auditEntry({ clock: () => now }, caller, { target: backendId ?? env, env }));
  }
  return [...new Set(destructions.map(({ env }) => env))];
}
