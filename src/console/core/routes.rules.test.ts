import { hrefOf, routeOf } from './pages.rules.ts';

it.each([
  ['/console/', { page: 'fleet', params: {} }],
  ['/console/envs', { page: 'envs', params: {} }],
  ['/console/envs/eu-1', { page: 'env', params: { env: 'eu-1' } }],
  ['/console/envs/eu-1/diff', { page: 'diff', params: { env: 'eu-1' } }],
  ['/console/backends/0f8f', { page: 'backend', params: { id: '0f8f' } }],
  ['/console/backends/a%2Fb', { page: 'backend', params: { id: 'a/b' } }],
])('%s is a page', (path, route) => {
  expect(routeOf(path)).toEqual(route);
  expect(hrefOf(routeOf(path)!.page, routeOf(path)!.params)).toBe(path);
});

it.each(['/console', '/console/envs/', '/console/envs/eu-1/more', '/console/nothing', '/console/envs/%', '/'])(
  '%s is not a route',
  (path) => expect(routeOf(path)).toBeNull(),
);
