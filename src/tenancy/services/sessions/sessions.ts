import { leastRole, visibleEnvs, type Permission } from '../../rules/permission.ts';
import { permissionsOfGroups } from '../../rules/person.ts';
import { isSessionOver } from '../../rules/sessionLife.ts';
import { listSessions as selectSessions } from '../../store/sessions.ts';
import { personActor } from '../audit.ts';
import { toTime } from '../backendViews.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Operator } from '../operator.ts';
import { administersSessions } from './endSession.ts';

/** A session as the API returns it. */
export interface SessionView {
  id: string;
  /** As in the audit log. */
  name: string;
  subject: string;
  role: Permission['role'] | null;
  envs: string[] | null;
  address: string;
  created_at: string;
  last_used_at: string;
  /** Unless it is idle or its person loses the groups before. */
  expires_at: string;
  /** True for the session of the call itself. */
  current: boolean;
}

/** The sessions that go on, newest first: one's own, or all as an administrator of all envs. */
export async function listSessions(deps: Dependencies, operator: Operator): Promise<SessionView[]> {
  const { settings, clock, store } = deps;
  const subject = administersSessions(operator) ? null : operator.session?.subject;
  const rows = subject === undefined ? [] : await selectSessions(store, subject);
  const current = rows.filter((row) => !isSessionOver(row, settings.session, clock()));
  return current.map(({ id, name, subject: person, groups, address, created_at, last_used_at }) => {
    const permissions = permissionsOfGroups(JSON.parse(groups) as string[], settings.oidc.roles);
    const envs = visibleEnvs(permissions);
    return {
      ...{ id, name: personActor(name), subject: person, address, current: id === operator.session?.id },
      role: permissions.length === 0 ? null : leastRole(permissions),
      envs: envs && [...envs],
      created_at: toTime(created_at),
      last_used_at: toTime(last_used_at),
      expires_at: toTime(created_at + settings.session.lifetime_s * 1000),
    };
  });
}
