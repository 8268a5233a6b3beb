import type { SessionDependencies } from './authenticate.ts';
import { listAudit } from '../core/audit.ts';
import { DEFAULT_LIMIT } from '../../api/commonSchemas.ts';
import { answer, noContent, routesFor } from '../http/operatorRoute.ts';
import { endSession, viewCaller } from './authenticate.ts';
import { createOperator, listOperators, revokeOperator } from './people.ts';
import {
  AuditLog,
  AuditQuery,
  Caller,
  CreatedOperator,
  NewOperator,
  OperatorList,
  OperatorParams,
  SessionList,
  SessionParams,
} from './peopleSchemas.ts';
import { listSessions } from './sessions.ts';

const route = routesFor<SessionDependencies>();

/** Routes of operators and their tokens. */
export const operatorAccountRoutes = [
  route({
    method: 'GET',
    url: '/v1/whoami',
    role: 'viewer',
    summary: 'Show the owner and permissions of the token',
    responses: { 200: Caller },
    act: null,
    handle: async (_deps, { operator }) => answer(200, viewCaller(operator)),
  }),
  route({
    method: 'GET',
    url: '/v1/operators',
    role: 'admin',
    everyEnv: true,
    summary: 'List the operators',
    responses: { 200: OperatorList },
    act: 'operator.list',
    handle: async (deps) => answer(200, { operators: await listOperators(deps) }),
  }),
  route({
    method: 'POST',
    url: '/v1/operators',
    role: 'admin',
    everyEnv: true,
    summary: 'Create an operator; the token is shown once',
    body: NewOperator,
    responses: { 201: CreatedOperator },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'OPERATOR_EXISTS' },
    act: 'operator.create',
    target: ({ body }) => body.name,
    noStore: true,
    handle: async (deps, { caller, body }) => answer(201, await createOperator(deps, { caller, fields: body })),
  }),
  route({
    method: 'DELETE',
    url: '/v1/operators/:id',
    role: 'admin',
    everyEnv: true,
    summary: 'Revoke the token of an operator',
    params: OperatorParams,
    responses: { 204: null },
    errors: { 404: 'OPERATOR_NOT_FOUND', 409: 'LAST_ADMIN' },
    act: 'operator.revoke',
    handle: async (deps, { caller, params }) => {
      await revokeOperator(deps, { caller, id: params.id });
      return noContent;
    },
  }),
];

/** Routes of the sessions of signed-in people. */
export const sessionRoutes = [
  route({
    method: 'GET',
    url: '/v1/sessions',
    role: 'viewer',
    summary: "List the caller's sessions; administrators of all environments see all sessions",
    responses: { 200: SessionList },
    act: null,
    handle: async (deps, { operator }) => answer(200, { sessions: await listSessions(deps, operator) }),
  }),
  route({
    method: 'DELETE',
    url: '/v1/sessions/:id',
    role: 'viewer',
    summary: "End one of the caller's sessions; administrators of all environments may end any session",
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

/** Routes of the audit log. */
export const auditRoutes = [
  route({
    method: 'GET',
    url: '/v1/audit',
    role: 'admin',
    summary: 'List the audit log of the environments that the token permits, newest first',
    query: AuditQuery,
    responses: { 200: AuditLog },
    act: 'audit.list',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query }) =>
      answer(200, await listAudit(deps, { operator, ...query, limit: query.limit ?? DEFAULT_LIMIT })),
  }),
];
