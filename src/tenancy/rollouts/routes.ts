import type { RolloutDependencies } from './advance.ts';
import { EnvParams } from '../envs/envSchemas.ts';
import { DEFAULT_LIMIT } from '../../api/commonSchemas.ts';
import { answer, routesFor } from '../http/operatorRoute.ts';
import {
  GatePass,
  NewRollback,
  NewRollout,
  PreviewedRollout,
  Rollback,
  Rollout,
  RolloutEdit,
  RolloutHosts,
  RolloutHostsQuery,
  RolloutList,
  RolloutPreview,
  RolloutQuery,
  SkippedHost,
} from './rolloutSchemas.ts';
import { previewRollout } from './preview.ts';
import { abortRollout, rollBack } from './rollback.ts';
import {
  editRollout,
  haltRollout,
  listRolloutHosts,
  listRollouts,
  passGate,
  readRollout,
  resumeRollout,
  skipHost,
  startRollout,
} from './rollouts.ts';

const route = routesFor<RolloutDependencies>();

/** Routes of rollouts. An environment has one rollout at a time. */
export const rolloutRoutes = [
  route({
    method: 'GET',
    url: '/v1/envs/:env/rollouts',
    role: 'viewer',
    summary: 'List the rollouts of an environment, newest first',
    params: EnvParams,
    query: RolloutQuery,
    responses: { 200: RolloutList },
    errors: { 404: 'ENV_NOT_FOUND' },
    act: 'rollout.list',
    handle: async (deps, { params: { env }, query: { limit = DEFAULT_LIMIT } }) =>
      answer(200, { rollouts: await listRollouts(deps, { env, limit }) }),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollouts',
    role: 'deployer',
    summary: 'Roll out a bundle to the hosts of an environment, wave by wave',
    params: EnvParams,
    body: NewRollout,
    responses: { 201: Rollout },
    errors: {
      404: 'ENV_NOT_FOUND, BUNDLE_NOT_FOUND',
      409: 'ALREADY_DESIRED, ROLLOUT_ACTIVE, SIGNATURE_AWAITED, DESIRED_DIFFERS, PIPELINE_STALE, ROLLBACK_NEEDED, ROLLBACK_DENIED',
      422: 'ROLLOUT_INVALID',
    },
    act: 'rollout.start',
    target: ({ body }) => body.sha256,
    handle: async (deps, { caller, params: { env }, body: { sha256, if_desired, pipeline, ...plan } }) => {
      const conditions = {
        ...(if_desired !== undefined && { if_desired }),
        ...(pipeline !== undefined && { pipeline }),
      };
      return answer(201, await startRollout(deps, { caller, promotion: { env, sha256, ...conditions }, plan }));
    },
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollouts/preview',
    role: 'deployer',
    summary: 'Show the hosts that each wave of a rollout would take, without starting it',
    params: EnvParams,
    body: PreviewedRollout,
    responses: { 200: RolloutPreview },
    errors: { 404: 'ENV_NOT_FOUND, BUNDLE_NOT_FOUND', 422: 'ROLLOUT_INVALID' },
    act: 'rollout.preview',
    target: ({ body }) => body.sha256,
    handle: async ({ store }, { params: { env }, body }) => answer(200, await previewRollout(store, { env, ...body })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollback',
    role: 'deployer',
    summary: 'Return the hosts of an environment to an earlier bundle, under a new sequence',
    params: EnvParams,
    body: NewRollback,
    responses: { 200: Rollback },
    errors: {
      404: 'ENV_NOT_FOUND, BUNDLE_NOT_FOUND',
      409: 'ALREADY_DESIRED, ROLLOUT_ACTIVE, DESIRED_DIFFERS, DESIRED_CHANGED, PIPELINE_STALE, PREVIOUS_UNKNOWN, ROLLBACK_DENIED, SEQUENCE_EXHAUSTED',
      422: 'ROLLOUT_INVALID',
      503: 'OVERLOADED, PEER_UNAVAILABLE, DISK_FULL, ARCHIVE_UNCHECKED, BUNDLE_MISSING, BUNDLE_DAMAGED',
    },
    act: 'env.rollback',
    target: ({ body }) => body.sha256 ?? 'previous',
    handle: async (deps, { caller, params: { env }, body }) => {
      const { with_secrets: withSecrets = false, override_rollout: overridesRollout = false, ...more } = body;
      const { sha256, plan, ...conditions } = more;
      const named = { ...(sha256 !== undefined && { sha256 }), ...(plan !== undefined && { plan }) };
      return answer(200, await rollBack(deps, { caller, env, withSecrets, overridesRollout, conditions, ...named }));
    },
  }),
  route({
    method: 'GET',
    url: '/v1/envs/:env/rollout',
    role: 'viewer',
    summary: 'Show the newest rollout of an environment',
    params: EnvParams,
    responses: { 200: Rollout },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND' },
    act: 'rollout.read',
    handle: async (deps, { params }) => answer(200, await readRollout(deps, params.env)),
  }),
  route({
    method: 'GET',
    url: '/v1/envs/:env/rollout/hosts',
    role: 'viewer',
    summary: 'List the hosts of the newest rollout of an environment, by wave',
    params: EnvParams,
    query: RolloutHostsQuery,
    responses: { 200: RolloutHosts },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND' },
    act: 'rollout.hosts',
    handle: async (deps, { params: { env }, query: { wave, limit = DEFAULT_LIMIT } }) =>
      answer(200, await listRolloutHosts(deps, env, { wave, limit })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollout/halt',
    role: 'deployer',
    summary: 'Halt the rollout of an environment: no further host gets its bundle',
    params: EnvParams,
    responses: { 200: Rollout },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND', 409: 'ROLLOUT_STATE' },
    act: 'rollout.halt',
    handle: async (deps, { caller, params: { env } }) => answer(200, await haltRollout(deps, { caller, env })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollout/resume',
    role: 'deployer',
    summary: 'Resume a halted rollout; hosts that have failed so far are excused',
    params: EnvParams,
    responses: { 200: Rollout },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND', 409: 'ROLLOUT_STATE' },
    act: 'rollout.resume',
    handle: async (deps, { caller, params: { env } }) => answer(200, await resumeRollout(deps, { caller, env })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollout/abort',
    role: 'deployer',
    summary: 'Abort the rollout of an environment: the previous content becomes desired again',
    params: EnvParams,
    responses: { 200: Rollout },
    errors: {
      404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND',
      409: 'ROLLOUT_STATE, DESIRED_CHANGED',
      503: 'OVERLOADED, PEER_UNAVAILABLE, DISK_FULL, ARCHIVE_UNCHECKED, BUNDLE_MISSING, BUNDLE_DAMAGED',
    },
    act: 'rollout.abort',
    handle: async (deps, { caller, params: { env } }) => answer(200, await abortRollout(deps, { caller, env })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollout/edit',
    role: 'deployer',
    summary: 'Change limits, deadline and later waves of the rollout of an environment',
    params: EnvParams,
    body: RolloutEdit,
    responses: { 200: Rollout },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND', 409: 'ROLLOUT_STATE', 422: 'ROLLOUT_INVALID' },
    act: 'rollout.edit',
    handle: async (deps, { caller, params: { env }, body: edit }) =>
      answer(200, await editRollout(deps, { caller, env, edit })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollout/skip',
    role: 'deployer',
    summary: 'Let the rollout of an environment not wait for a host, and ignore its failures until it succeeds',
    params: EnvParams,
    body: SkippedHost,
    responses: { 200: Rollout },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND, BACKEND_NOT_FOUND', 409: 'ROLLOUT_STATE' },
    act: 'rollout.skip',
    target: ({ body }) => body.backend,
    handle: async (deps, { caller, params: { env }, body: { backend } }) =>
      answer(200, await skipHost(deps, { caller, env, backend })),
  }),
  route({
    method: 'POST',
    url: '/v1/envs/:env/rollout/pass',
    role: 'deployer',
    summary: 'Let a rollout pass the gate after a wave',
    params: EnvParams,
    body: GatePass,
    responses: { 200: Rollout },
    errors: { 404: 'ENV_NOT_FOUND, ROLLOUT_NOT_FOUND', 409: 'ROLLOUT_STATE' },
    act: 'rollout.pass',
    handle: async (deps, { caller, params: { env }, body: { wave } }) =>
      answer(200, await passGate(deps, { caller, env, wave })),
  }),
];
