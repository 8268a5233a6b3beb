import { viewCaller } from '../../services/authenticateOperator.ts';
import { createOperator, listOperators, revokeOperator } from '../../services/operators.ts';
import { answer, noContent, operatorRoute } from '../operatorRoute.ts';
import { Caller, CreatedOperator, NewOperator, OperatorList, OperatorParams } from '../schemas/operators.ts';

/** Operators and their tokens. */
export const operatorAccountRoutes = [
  operatorRoute({
    method: 'GET',
    url: '/v1/whoami',
    role: 'viewer',
    summary: 'Tell whose token the bearer is',
    responses: { 200: Caller },
    act: null,
    handle: async (_deps, { operator }) => answer(200, viewCaller(operator)),
  }),
  operatorRoute({
    method: 'GET',
    url: '/v1/operators',
    role: 'admin',
    everyEnv: true,
    summary: 'List the operators',
    responses: { 200: OperatorList },
    act: 'operator.list',
    handle: async (deps) => answer(200, { operators: await listOperators(deps) }),
  }),
  operatorRoute({
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
  operatorRoute({
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
