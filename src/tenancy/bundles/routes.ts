import { Signature } from '../../api/agentSchemas.ts';
import { cursorOf, placeOf } from '../core/lists.rules.ts';
import { DEFAULT_LIMIT } from '../../api/commonSchemas.ts';
import { answer, octets, routesFor } from '../http/operatorRoute.ts';
import { acceptBundle, withReceivedArchive } from './acceptBundle.ts';
import { openArchive, raiseShownSequences } from './archives.ts';
import {
  addSignature,
  compareBundles,
  type ComparisonDependencies,
  findPermitted,
  listBundles,
  listSignatures,
  readBundle,
  viewBundle,
} from './bundleList.ts';
import {
  Bundle,
  BundleDetails,
  BundleDiff,
  BundleList,
  BundleParams,
  BundleQuery,
  DiffParams,
  DiffQuery,
  PushedBundle,
  PushQuery,
  SignatureList,
} from './bundleSchemas.ts';

const route = routesFor<ComparisonDependencies>();

/** Routes of bundles. */
export const bundleRoutes = [
  route({
    method: 'PUT',
    url: '/v1/bundles',
    role: 'deployer',
    summary: 'Push a bundle; it is refused if no host could permit it',
    query: PushQuery,
    body: octets,
    responses: { 201: PushedBundle, 200: PushedBundle },
    errors: {
      404: 'ENV_NOT_FOUND',
      409: 'SEQUENCE_STALE, SEQUENCE_TOO_HIGH',
      413: 'BUNDLE_TOO_LARGE',
      422: 'Code of the first refusal; refusals names them all',
      503: 'OVERLOADED, PEER_UNAVAILABLE, DISK_FULL, ARCHIVE_UNCHECKED, ARCHIVE_BUSY',
    },
    act: 'bundle.push',
    target: ({ query }) => query.sha256,
    handle: async (deps, { operator, caller, query: { sha256 }, body, signal }) =>
      withReceivedArchive(deps, { body, sha256, signal }, async (archive) => {
        const onEnv = (env: string) => raiseShownSequences(deps, env, signal);
        const { bundle, created, warnings } = await acceptBundle(deps, { ...archive, operator, caller, signal, onEnv });
        return answer(created ? 201 : 200, { ...(await viewBundle(deps.store, bundle)), warnings });
      }),
  }),
  route({
    method: 'GET',
    url: '/v1/bundles',
    role: 'viewer',
    summary: 'List the bundles of the environments that the token permits, newest first',
    query: BundleQuery,
    responses: { 200: BundleList },
    act: 'bundle.list',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query: { after, limit = DEFAULT_LIMIT, ...filter } }) => {
      const place = after === undefined ? undefined : placeOf(after);
      const { bundles, last } = await listBundles(deps, { operator, ...filter, after: place, limit });
      return answer(200, { bundles, next: last && cursorOf(last) });
    },
  }),
  route({
    method: 'GET',
    url: '/v1/bundles/:sha256',
    role: 'viewer',
    summary: 'Show a bundle',
    params: BundleParams,
    responses: { 200: BundleDetails },
    errors: { 404: 'BUNDLE_NOT_FOUND' },
    act: 'bundle.read',
    handle: async (deps, { operator, params }) =>
      answer(200, await readBundle(deps, { operator, sha256: params.sha256 })),
  }),
  route({
    method: 'GET',
    url: '/v1/envs/:env/bundles/:sha256/diff',
    role: 'viewer',
    summary: 'Compare two bundles of an environment',
    description:
      'Like `deployctl bundle diff --json`, but values of environment variables, commands, labels, driver and log options, and inline files are `(not shown)`; the archives contain them.',
    params: DiffParams,
    query: DiffQuery,
    responses: { 200: BundleDiff },
    errors: {
      404: 'BUNDLE_NOT_FOUND',
      422: 'Code of the first refusal, if this version cannot read a bundle',
      503: 'OVERLOADED, PEER_UNAVAILABLE, BUNDLE_MISSING, BUNDLE_DAMAGED, DISK_FULL, ARCHIVE_UNCHECKED',
    },
    act: 'bundle.diff',
    handle: async (deps, { params: { env, sha256: before }, query: { to: after }, signal }) =>
      answer(200, await compareBundles(deps, { env, before, after, signal })),
  }),
  route({
    method: 'GET',
    url: '/v1/bundles/:sha256/archive',
    role: 'viewer',
    summary: 'Download the archive of a bundle as it was pushed',
    params: BundleParams,
    responses: { 200: octets },
    errors: { 404: 'BUNDLE_NOT_FOUND', 503: 'OVERLOADED, PEER_UNAVAILABLE, BUNDLE_MISSING' },
    act: 'bundle.fetch',
    handle: async (deps, { operator, params: { sha256 } }) => {
      const { size_bytes: size } = await findPermitted(deps, { operator, sha256 }, 'viewer');
      return answer(200, { bytes: await openArchive(deps, sha256), size });
    },
  }),
];

/** Routes of bundles' signatures. Others create the signatures: the service never signs bundles. */
export const signatureRoutes = [
  route({
    method: 'POST',
    url: '/v1/bundles/:sha256/signatures',
    role: 'deployer',
    summary: 'Add a signature to a bundle; adding it again changes nothing',
    params: BundleParams,
    body: Signature,
    responses: { 201: Bundle, 200: Bundle },
    errors: { 404: 'BUNDLE_NOT_FOUND', 422: 'SIGNATURE_REFUSED' },
    act: 'signature.add',
    handle: async (deps, { operator, caller, params: { sha256 }, body: signature }) => {
      const { bundle, created } = await addSignature(deps, { operator, caller, sha256, signature });
      return answer(created ? 201 : 200, bundle);
    },
  }),
  route({
    method: 'GET',
    url: '/v1/bundles/:sha256/signatures',
    role: 'viewer',
    summary: 'List the signatures of a bundle, oldest first',
    params: BundleParams,
    responses: { 200: SignatureList },
    errors: { 404: 'BUNDLE_NOT_FOUND' },
    act: 'signature.list',
    handle: async (deps, { operator, params: { sha256 } }) =>
      answer(200, { signatures: await listSignatures(deps, { operator, sha256 }) }),
  }),
];
