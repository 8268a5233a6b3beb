import { viewBundle } from '../bundles/bundleList.ts';
import { BundleParams, PushedBundle } from '../bundles/bundleSchemas.ts';
import { createHostCode } from './hostCodes.ts';
import { type KitDependencies, revealKit } from './kit.ts';
import { cursorOf, placeOf } from '../core/lists.rules.ts';
import { DEFAULT_LIMIT, LabelChanges } from '../../api/commonSchemas.ts';
import { answer, routesFor } from '../http/operatorRoute.ts';
import type { Labels } from '../store/database.ts';
import { parseOrder, parseStates } from './backendViews.ts';
import {
  BackendDetails,
  BackendList,
  BackendParams,
  BackendQuery,
  ChosenHost,
  HostCode,
  InstallKit,
  NewBackend,
  NewHostCode,
  NewLabels,
  Release,
  ReportList,
  ReportQuery,
  RestoreReview,
  Retirement,
  Retiring,
} from './backendSchemas.ts';
import {
  acceptCopy,
  changedLabels,
  createBackend,
  labelBackend,
  listReports,
  lockBackend,
  readBackend,
  retireBackend,
} from './backends.ts';
import { listBackends, readFleet, readTrouble } from './fleet.ts';
import { adoptArchive, releaseHeldEnv, type ReviewDependencies, reviewRestore } from './restore.ts';
import { EnvDetails, EnvParams, Fleet, Trouble, TroubleQuery } from '../envs/envSchemas.ts';

const route = routesFor<KitDependencies>();

/** Backends, their install kits, reports and retirement. */
export const backendRoutes = [
  route({
    method: 'GET',
    url: '/v1/backends',
    role: 'viewer',
    summary: 'List the backends of the environments that the token permits',
    query: BackendQuery,
    responses: { 200: BackendList },
    act: 'backend.list',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query }) => {
      const {
        env,
        state,
        q: search,
        host,
        behind: isBehind,
        sick: isSick,
        deferred_by: deferredBy,
        swarm: swarmId,
      } = query;
      const { cloned: isCloned, differs: isDiffering } = query;
      const { sort, after, limit = DEFAULT_LIMIT } = query;
      const [states, order] = [parseStates(state), parseOrder(sort)];
      const flags = { isBehind, isSick, isCloned, isDiffering };
      const page = { search, host, ...flags, deferredBy, swarmId, order, after, limit };
      return answer(200, await listBackends(deps, { operator, env, states, ...page }));
    },
  }),
  route({
    method: 'GET',
    url: '/v1/fleet',
    role: 'viewer',
    summary: 'Count the backends of the environments that the token permits: by state, out of date, unhealthy',
    responses: { 200: Fleet },
    act: 'fleet.read',
    handle: async (deps, { operator }) => answer(200, await readFleet(deps, operator)),
  }),
  route({
    method: 'GET',
    url: '/v1/trouble',
    role: 'viewer',
    summary: 'List what is wrong: hosts that fail, are unhealthy or silent, by environment and cause, the worst first',
    query: TroubleQuery,
    responses: { 200: Trouble },
    act: 'trouble.read',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query: { env } }) => answer(200, await readTrouble(deps, { operator, env })),
  }),
  route({
    method: 'POST',
    url: '/v1/backends',
    role: 'admin',
    summary: 'Create a backend',
    body: NewBackend,
    responses: { 201: BackendDetails },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'SECRETS_PENDING' },
    act: 'backend.create',
    target: ({ body }) => body.site,
    handle: async (deps, { operator, caller, body }) =>
      answer(201, await createBackend(deps, { operator, caller, fields: body })),
  }),
  route({
    method: 'GET',
    url: '/v1/backends/:id',
    role: 'viewer',
    summary: 'Show a backend with its newest report',
    params: BackendParams,
    responses: { 200: BackendDetails },
    errors: { 404: 'BACKEND_NOT_FOUND' },
    act: 'backend.read',
    handle: async (deps, { operator, params }) => answer(200, await readBackend(deps, { operator, id: params.id })),
  }),
  route({
    method: 'PUT',
    url: '/v1/backends/:id/labels',
    role: 'admin',
    summary: 'Replace the labels of a backend, by which waves of rollouts select it',
    params: BackendParams,
    body: NewLabels,
    responses: { 200: BackendDetails },
    errors: { 404: 'BACKEND_NOT_FOUND' },
    act: 'backend.labels',
    handle: async (deps, { operator, caller, params, body }) =>
      answer(200, await labelBackend(deps, { operator, caller, id: params.id, change: () => body.labels })),
  }),
  route({
    method: 'POST',
    url: '/v1/backends/:id/labels',
    role: 'admin',
    summary: 'Add, change and remove labels of a backend; the others stay',
    params: BackendParams,
    body: LabelChanges,
    responses: { 200: BackendDetails },
    errors: { 404: 'BACKEND_NOT_FOUND' },
    act: 'backend.labels',
    handle: async (deps, { operator, caller, params, body }) => {
      const change = (labels: Labels) => changedLabels(labels, body);
      return answer(200, await labelBackend(deps, { operator, caller, id: params.id, change }));
    },
  }),
  ...(
    [
      ['GET', '/v1/backends/:id/agent/install'],
      // Exempt pages: a browser may load them again.
      ['POST', '/v1/backends/:id/kit'],
    ] as const
  ).map(([method, url]) =>
    route({
      method,
      url,
      role: 'admin',
      summary: 'Reveal the install kit of a backend; earlier kits become invalid',
      params: BackendParams,
      responses: { 200: InstallKit },
      errors: { 404: 'BACKEND_NOT_FOUND', 409: 'BACKEND_RETIRED' },
      act: 'backend.kit',
      noStore: true,
      handle: async (deps, { operator, caller, params }) =>
        answer(200, await revealKit(deps, { operator, caller, id: params.id })),
    }),
  ),
  route({
    method: 'POST',
    url: '/v1/host-codes',
    role: 'admin',
    summary: 'Make a one-time code that adds a host; the record of a new host is created',
    body: NewHostCode,
    responses: { 201: HostCode },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'HOST_EXISTS, SECRETS_PENDING' },
    act: 'backend.code',
    target: ({ body }) => body.name,
    noStore: true,
    handle: async (deps, { caller, body }) => answer(201, await createHostCode(deps, { caller, fields: body })),
  }),
  ...(['lock', 'unlock'] as const).map((act) =>
    route({
      method: 'POST',
      url: `/v1/backends/:id/${act}`,
      role: 'admin',
      summary: act === 'lock' ? 'Refuse all calls of a host from now on' : 'Accept the calls of a locked host again',
      params: BackendParams,
      responses: { 200: BackendDetails },
      errors: { 404: 'BACKEND_NOT_FOUND' },
      act: `backend.${act}`,
      handle: async (deps, { operator, caller, params }) =>
        answer(200, await lockBackend(deps, { operator, caller, id: params.id, isLocked: act === 'lock' })),
    }),
  ),
  route({
    method: 'POST',
    url: '/v1/backends/:id/accept',
    role: 'admin',
    summary: 'Accept one of the hosts that use the token of a backend; the others are refused',
    params: BackendParams,
    body: ChosenHost,
    responses: { 200: BackendDetails },
    errors: { 404: 'BACKEND_NOT_FOUND', 409: 'HOST_NOT_CONTESTED' },
    act: 'backend.accept',
    handle: async (deps, { operator, caller, params, body: { machine, boot } }) =>
      answer(200, await acceptCopy(deps, { operator, caller, id: params.id, pair: { machine, boot } })),
  }),
  route({
    method: 'POST',
    url: '/v1/backends/:id/retire',
    role: 'admin',
    summary: 'Retire a backend',
    params: BackendParams,
    body: Retirement,
    responses: { 202: Retiring },
    errors: {
      404: 'BACKEND_NOT_FOUND',
      409: 'CONFIRM_REQUIRED, BACKEND_LEADS, BACKEND_OFFLINE, BACKEND_CLONED, BACKEND_RETIRED, SECRETS_PENDING',
    },
    act: 'backend.retire',
    handle: async (deps, { operator, caller, params, body }) => {
      const { confirm = false, force = false, purge_volumes: purgeVolumes = false, swarm: isWholeSwarm = false } = body;
      const how = { confirm, force, purgeVolumes, isWholeSwarm, secrets: body.secrets ?? null };
      return answer(202, await retireBackend(deps, { operator, caller, id: params.id, ...how }));
    },
  }),
  route({
    method: 'GET',
    url: '/v1/backends/:id/reports',
    role: 'viewer',
    summary: 'List the reports of a backend, newest first',
    params: BackendParams,
    query: ReportQuery,
    responses: { 200: ReportList },
    errors: { 404: 'BACKEND_NOT_FOUND' },
    act: 'backend.reports',
    handle: async (deps, { operator, params, query: { before, limit = DEFAULT_LIMIT } }) => {
      const place = before === undefined ? undefined : placeOf(before);
      const { reports, last } = await listReports(deps, { operator, id: params.id, before: place, limit });
      return answer(200, { reports, next: last && cursorOf(last) });
    },
  }),
];

const restoreRoute = routesFor<ReviewDependencies>();

/** Routes of the review after a restore. */
export const restoreRoutes = [
  restoreRoute({
    method: 'GET',
    url: '/v1/restore',
    role: 'viewer',
    summary:
      'Show what a restore holds, what the release of each environment changes, and archives unknown to the store',
    responses: { 200: RestoreReview },
    errors: { 503: 'OVERLOADED, PEER_UNAVAILABLE, DISK_FULL, ARCHIVE_UNCHECKED' },
    act: 'restore.review',
    handle: async (deps, { operator, signal }) => answer(200, await reviewRestore(deps, { operator, signal })),
  }),
  restoreRoute({
    method: 'POST',
    url: '/v1/restore/archives/:sha256/adopt',
    role: 'deployer',
    summary: 'Make a bundle of a stored archive that the store does not know',
    params: BundleParams,
    responses: { 201: PushedBundle, 200: PushedBundle },
    errors: {
      404: 'ARCHIVE_NOT_FOUND, ENV_NOT_FOUND',
      409: 'SEQUENCE_STALE',
      422: 'Code of the first refusal; refusals names them all',
      503: 'OVERLOADED, PEER_UNAVAILABLE, DISK_FULL, ARCHIVE_UNCHECKED, ARCHIVE_BUSY, BUNDLE_DAMAGED',
    },
    act: 'bundle.adopt',
    handle: async (deps, { operator, caller, params: { sha256 }, signal }) => {
      const { bundle, created, warnings } = await adoptArchive(deps, { operator, caller, sha256, signal });
      return answer(created ? 201 : 200, { ...(await viewBundle(deps.store, bundle)), warnings });
    },
  }),
  restoreRoute({
    method: 'POST',
    url: '/v1/envs/:env/release',
    role: 'admin',
    summary: 'Give orders again to the hosts of an environment that a restore holds',
    params: EnvParams,
    body: Release,
    responses: { 200: EnvDetails },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'ENV_NOT_HELD, DESIRED_DIFFERS', 503: 'OVERLOADED, PEER_UNAVAILABLE' },
    act: 'env.release',
    handle: async (deps, { caller, params: { env }, body: { desired_sha: desiredSha }, signal }) =>
      answer(200, await releaseHeldEnv(deps, { caller, env, desiredSha, signal })),
  }),
];
