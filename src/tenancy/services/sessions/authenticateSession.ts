import { digestOfSession } from '../../credentials/sessionSecret.ts';
import { permissionsOfGroups } from '../../rules/person.ts';
import { isSessionOver } from '../../rules/sessionLife.ts';
import type { SessionRow } from '../../store/database.ts';
import { findSession, updateSession } from '../../store/sessions.ts';
import { personActor } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Operator } from '../operator.ts';
import { endByService } from './endSession.ts';
import { withCurrentGroups } from './withCurrentGroups.ts';

/** The last use of a session is kept once in so many milliseconds. */
const USE_KEPT_MS = 30_000;

/**
 * Finds the person of a session by the value of its cookie, and keeps that it was used; null once it is over. Throws as
 * `personOf`.
 */
export async function authenticateSession(deps: Dependencies, secret: string): Promise<Operator | null> {
  const digest = digestOfSession(secret);
  const row = digest === null ? null : await findSession(deps.store, digest);
  const person = await personOf(deps, row);
  if (row !== null && person !== null) await keepUse(deps, row);
  return person;
}

/**
 * The person of a session; null once it is over, or the person is in no group with a role any more, which ends it. Throws
 * PeerError while the groups must be asked for and the provider cannot be used.
 */
export async function personOf(deps: Dependencies, found: SessionRow | null): Promise<Operator | null> {
  const { settings, clock, identityProvider } = deps;
  if (found === null || found.issuer !== identityProvider?.issuer) return null;
  if (isSessionOver(found, settings.session, clock())) return null;
  const row = await withCurrentGroups(deps, identityProvider, found);
  if (row === null) return null;
  const permissions = permissionsOfGroups(JSON.parse(row.groups) as string[], settings.oidc.roles);
  if (permissions.length === 0) {
    await endByService(deps, row, 'NO_ROLE');
    return null;
  }
  const { id, subject, name } = row;
  return { id, name: personActor(name), permissions, session: { id, subject } };
}

async function keepUse({ store, clock, log }: Dependencies, { id, last_used_at }: SessionRow): Promise<void> {
  const now = clock();
  if (now < last_used_at + USE_KEPT_MS) return;
  await updateSession(store, id, { last_used_at: now }).catch((error: unknown) =>
    log('warn', `the last use of the session ${id} could not be kept: ${String(error)}`),
  );
}
