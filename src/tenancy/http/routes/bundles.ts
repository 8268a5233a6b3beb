import { cursorOf, placeOf } from '../../rules/cursor.ts';
import { listBundles, readBundle } from '../../services/bundleList.ts';
import { answer, operatorRoute } from '../operatorRoute.ts';
import { Bundle, BundleList, BundleParams, BundleQuery } from '../schemas/bundles.ts';
import { DEFAULT_LIMIT } from '../schemas/common.ts';

/** Bundles. */
export const bundleRoutes = [
  operatorRoute({
    method: 'GET',
    url: '/v1/bundles',
    role: 'viewer',
    summary: 'List the bundles of the envs that the token is for, newest first',
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
  operatorRoute({
    method: 'GET',
    url: '/v1/bundles/:sha256',
    role: 'viewer',
    summary: 'Show a bundle',
    params: BundleParams,
    responses: { 200: Bundle },
    errors: { 404: 'BUNDLE_NOT_FOUND' },
    act: 'bundle.read',
    handle: async (deps, { operator, params }) =>
      answer(200, await readBundle(deps, { operator, sha256: params.sha256 })),
  }),
];
