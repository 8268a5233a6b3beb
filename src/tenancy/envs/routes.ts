import type { AuditDependencies } from '../core/audit.ts';
import { answer, noContent, routesFor } from '../http/operatorRoute.ts';
import { Desired, EnvDetails, EnvList, EnvParams, NewEnv, NewSequence, NewTrust, Sequence } from './envSchemas.ts';
import { policyOf } from '../bundles/hostPolicies.rules.ts';
import {
  createEnv,
  deleteEnv,
  keepSecrets,
  listEnvs,
  readEnv,
  reserveSequence,
  setDesired,
  setSequence,
  setTrust,
} from './envs.ts';

const route = routesFor<AuditDependencies>();

/** Routes of environments, their desired bundles and their sequences. */
export const envRoutes = [
  route({
    method: 'GET',
    url: '/v1/envs',
    role: 'viewer',
    summary: 'List the environments that the token permits',
    responses: { 200: EnvList },
    act: null,
    handle: async (deps, { operator }) => answer(200, { envs: await listEnvs(deps, operator) }),
  }),
  route({
    method: 'GET',
    url: '/v1/envs/:env',
    role: 'viewer',
    summary: 'Show an environment',
    params: EnvParams,
    responses: { 200: EnvDetails },
    errors: { 404: 'ENV_NOT_FOUND' },
    act: 'env.read',
    handle: async (deps, { params }) => answer(200, await readEnv(deps, params.env)),
  }),
  route({
    method: 'POST',
    url: '/v1/envs',
    role: 'admin',
    summary: 'Create an environment',
    body: NewEnv,
    responses: { 201: EnvDetails },
    errors: { 409: 'ENV_EXISTS, SECRETS_PENDING' },
    act: 'env.create',
    target: ({ body }) => body.name,
    env: ({ body }) => body.name,
    handle: async (deps, { caller, body: { name, production } }) =>
      answer(201, await createEnv(deps, { caller, env: name, production })),
  }),
  route({
    method: 'DELETE',
    url: '/v1/envs/:env',
    role: 'admin',
    summary: 'Delete an environment, its secrets and its bundles',
    params: EnvParams,
    responses: { 204: null },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'ENV_IN_USE, ROLLOUT_ACTIVE' },
    act: 'env.delete',
    handle: async (deps, { caller, params }) => {
      await deleteEnv(deps, { caller, env: params.env });
      return noContent;
    },
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/keep-secrets',
    role: 'deployer',
    summary: 'Keep the secrets of an environment whose last host is retired',
    params: EnvParams,
    responses: { 200: EnvDetails },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'SECRETS_PENDING' },
    act: 'secrets.keep',
    handle: async (deps, { caller, params }) => answer(200, await keepSecrets(deps, { caller, env: params.env })),
  }),
  route({
    method: 'PUT',
    url: '/v1/envs/:env/desired',
    role: 'deployer',
    summary: 'Set or clear the desired bundle of an environment',
    params: EnvParams,
    body: Desired,
    responses: { 200: EnvDetails },
    errors: {
      404: 'ENV_NOT_FOUND, BUNDLE_NOT_FOUND',
      409: 'ROLLOUT_ACTIVE, SIGNATURE_AWAITED, DESIRED_DIFFERS, PIPELINE_STALE, ROLLBACK_NEEDED, ROLLBACK_DENIED',
    },
    act: 'env.desired',
    target: ({ body }) => body.sha256 ?? 'none',
    handle: async (deps, { caller, params, body }) =>
      answer(200, await setDesired(deps, { caller, env: params.env, ...body })),
  }),
  route({
    method: 'PUT',
    url: '/v1/envs/:env/trust',
    role: 'admin',
    summary:
      'Record the signatures that the hosts of an environment require, and their policy and windows; the configuration of each host decides',
    params: EnvParams,
    body: NewTrust,
    responses: { 200: EnvDetails },
    errors: { 404: 'ENV_NOT_FOUND', 422: 'TRUST_INVALID' },
    act: 'env.trust',
    handle: async (deps, { caller, params: { env }, body: { root, policy, ...rest } }) => {
      const trust = { ...rest, root: root && JSON.stringify(root), ...(policy && { policy: policyOf(policy) }) };
      return answer(200, await setTrust(deps, { caller, env, trust }));
    },
  }),
  route({
    method: 'DELETE',
    url: '/v1/envs/:env/trust',
    role: 'admin',
    summary: 'Record that the hosts of an environment require no signatures',
    params: EnvParams,
    responses: { 200: EnvDetails },
    errors: { 404: 'ENV_NOT_FOUND' },
    act: 'env.clearTrust',
    handle: async (deps, { caller, params: { env } }) =>
      answer(200, await setTrust(deps, { caller, env, trust: null })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/sequence',
    role: 'deployer',
    summary: 'Reserve the next sequence for a bundle of an environment',
    params: EnvParams,
    responses: { 200: Sequence },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'SEQUENCE_EXHAUSTED' },
    act: 'env.sequence',
    handle: async (deps, { caller, params }) =>
      answer(200, { sequence: await reserveSequence(deps, { caller, env: params.env }) }),
  }),
  route({
    method: 'PUT',
    url: '/v1/envs/:env/sequence',
    role: 'admin',
    summary: 'Set the sequence after which the next bundles of an environment are numbered',
    params: EnvParams,
    body: NewSequence,
    responses: { 200: EnvDetails },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'SEQUENCE_STALE' },
    act: 'env.setSequence',
    target: ({ body }) => String(body.sequence),
    handle: async (deps, { caller, params: { env }, body }) =>
      answer(200, await setSequence(deps, { caller, env, ...body })),
  }),
];
