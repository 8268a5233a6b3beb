import { endSession } from '../../services/sessions/endSession.ts';
import { listSessions } from '../../services/sessions/sessions.ts';
import { answer, noContent, operatorRoute } from '../operatorRoute.ts';
import { SessionList, SessionParams } from '../schemas/sessions.ts';

/** Sessions of people who have signed in. */
export const sessionRoutes = [
  operatorRoute({
    method: 'GET',
    url: '/v1/sessions',
    role: 'viewer',
    summary: "List one's own sessions; those of all people as an administrator of all envs",
    responses: { 200: SessionList },
    act: null,
    handle: async (deps, { operator }) => answer(200, { sessions: await listSessions(deps, operator) }),
  }),
  operatorRoute({
    method: 'DELETE',
    url: '/v1/sessions/:id',
    role: 'viewer',
    summary: "End a session of one's own; that of anybody as an administrator of all envs",
    params: SessionParams,
    responses: { 204: null },
    errors: { 404: 'SESSION_NOT_FOUND' },
    act: 'session.end',
    handle: async (deps, { operator, caller, params }) => {
      await endSession(deps, { operator, caller, id: params.id });
      return noContent;
    },
  }),
];
