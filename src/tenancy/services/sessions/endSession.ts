import { digestOfSession } from '../../credentials/sessionSecret.ts';
import { forbiddenReason } from '../../rules/permission.ts';
import { addAuditEntry } from '../../store/audit.ts';
import type { SessionRow } from '../../store/database.ts';
import { deleteSession, findSession } from '../../store/sessions.ts';
import { notFound } from '../apiError.ts';
import { auditEntry, byService, personActor } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller, Operator } from '../operator.ts';

/** True for who sees and ends the sessions of all people: administrators of all envs. */
export function administersSessions({ permissions }: Operator): boolean {
  return forbiddenReason(permissions, { role: 'admin', env: { every: true } }) === null;
}

/** Ends a session at once: one's own, or that of anybody as an administrator of all envs. Throws 404. */
export async function endSession(
  deps: Dependencies,
  { operator, caller, id }: { operator: Operator; caller: AuditCaller; id: string },
): Promise<void> {
  const subject = administersSessions(operator) ? null : operator.session?.subject;
  if (subject === undefined) throw notFound('session');
  await deps.store.transaction().execute(async (work) => {
    const ended = await deleteSession(work, id, subject);
    if (ended === null) throw notFound('session');
    await addAuditEntry(work, auditEntry(deps, caller, { target: targetOf(ended), env: null }));
  });
}

/** Ends the session of a cookie, if there is one; the provider is not asked. */
export async function signOut(
  deps: Dependencies,
  { secret, address, requestId }: { secret: string; address: string; requestId: string },
): Promise<void> {
  const digest = digestOfSession(secret);
  const found = digest === null ? null : await findSession(deps.store, digest);
  if (found === null) return;
  const caller = { actor: personActor(found.name), act: 'session.end', address, requestId };
  await deps.store.transaction().execute(async (work) => {
    if ((await deleteSession(work, found.id, null)) === null) return;
    await addAuditEntry(work, auditEntry(deps, caller, { target: targetOf(found), env: null }));
  });
}

/** Ends a session whose person has lost it; `result` is why, for the audit log. */
export async function endByService(deps: Dependencies, { id }: SessionRow, result: string): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    const ended = await deleteSession(work, id, null);
    if (ended === null) return;
    const entry = auditEntry(deps, byService('session.end'), { target: targetOf(ended), env: null });
    await addAuditEntry(work, { ...entry, result });
  });
}

/** A session in the audit log: its id, whose it is, and the person's id at the provider, since names change hands. */
export function targetOf({ id, name, subject }: SessionRow): string {
  return `${id} ${personActor(name)} ${subject}`;
}
