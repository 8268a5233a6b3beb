import { listAudit } from '../../services/audit.ts';
import { answer, operatorRoute } from '../operatorRoute.ts';
import { DEFAULT_LIMIT } from '../schemas/common.ts';
import { AuditLog, AuditQuery } from '../schemas/operators.ts';

/** The audit log. */
export const auditRoutes = [
  operatorRoute({
    method: 'GET',
    url: '/v1/audit',
    role: 'admin',
    summary: 'List the acts on the envs that the token is for, newest first',
    query: AuditQuery,
    responses: { 200: AuditLog },
    act: 'audit.list',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query }) =>
      answer(200, await listAudit(deps, { operator, ...query, limit: query.limit ?? DEFAULT_LIMIT })),
  }),
];
