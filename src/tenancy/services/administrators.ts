import { addAuditEntry } from '../store/audit.ts';
import { addOperator } from '../store/operators.ts';
import type { Store } from '../store/openStore.ts';
import { auditEntry, byService, isReservedActor } from './audit.ts';
import { newOperator } from './operators.ts';

/** An administrator of all envs whom a command on the service's own machine makes. */
export interface NewAdministrator {
  name: string;
  /** The act in the audit log, such as `service.init`. */
  act: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** Makes an administrator in a transaction; returns the token, which is not kept, or null if the name is taken. */
export async function addAdministrator(work: Store, { name, act, now }: NewAdministrator): Promise<string | null> {
  const { row, token } = newOperator({ name, role: 'admin', envs: null }, now);
  if (isReservedActor(name) || !(await addOperator(work, row))) return null;
  const target = `${row.id} ${name}`;
  await addAuditEntry(work, auditEntry({ clock: () => now }, byService(act), { target, env: null }));
  return token;
}
