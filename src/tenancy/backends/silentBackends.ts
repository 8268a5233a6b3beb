import { auditEntry, byService } from '../core/audit.ts';
import type { Dependencies } from '../core/dependencies.ts';
import { changeBackend, findExpiredRetirements, findSilent } from '../store/backends.ts';
import { addAuditEntry } from '../store/people.ts';
import { announce } from '../webhooks/send.ts';

/** Backends that change in one round. */
const BACKENDS_PER_ROUND = 500;

/** Marks backends offline whose hosts have been silent for too long. */
export async function markSilentBackends({ store, settings, clock }: Dependencies): Promise<void> {
  const now = clock();
  const seenBefore = {
    servers: now - settings.offline_after_s * 1000,
    laptops: now - settings.laptop_offline_after_s * 1000,
  };
  for (const id of await findSilent(store, seenBefore, BACKENDS_PER_ROUND)) {
    await store.transaction().execute(async (work) => {
      const backend = await changeBackend(work, id, {
        event: { type: 'MISS_CHECK_INS' },
        now,
        when: ({ laptop, last_seen_at }) =>
          (last_seen_at ?? now) < (laptop === 1 ? seenBefore.laptops : seenBefore.servers),
      });
      if (backend !== null) await announce(work, { type: 'backend.offline', now, env: backend.env, backend });
    });
  }
}

/** Goes on with retirements that a silent host has not answered in time. */
export async function expireRetirements(deps: Dependencies): Promise<void> {
  const now = deps.clock();
  const before = now - deps.settings.retire_timeout_s * 1000;
  for (const id of await findExpiredRetirements(deps.store, before, BACKENDS_PER_ROUND)) {
    await deps.store.transaction().execute(async (work) => {
      const row = await changeBackend(work, id, {
        event: { type: 'EXPIRE_RETIREMENT' },
        now,
        when: ({ last_seen_at }) => (last_seen_at ?? 0) < before,
      });
      if (row === null) return;
      await addAuditEntry(work, auditEntry(deps, byService('backend.expireRetirement'), { target: id, env: row.env }));
    });
  }
}
