import { bearerIdentityOf } from './bearerCache.ts';

const meta = { role: 'deploy-agent', backend: 'backend:b-1', env: 'eu-1', gen: '7' };
const token = { path: 'auth/jwt-tenancy/login', accessor: 'a-1', meta };
const identity = { backendId: 'b-1', env: 'eu-1', generation: 7, accessor: 'a-1' };

it.each([
  ['in the root', token, null],
  ['in its namespace', { ...token, namespace_path: 'team/a/' }, 'team/a'],
  ['in a namespace that is configured with slashes', { ...token, namespace_path: 'team/a/' }, '/team/a/'],
])('accepts the token of a backend %s', (_where, found, namespace) => {
  expect(bearerIdentityOf(found, namespace)).toEqual(identity);
});

it.each<[string, Record<string, unknown>, string | null]>([
  ['from a mount of the same name in a namespace below', { ...token, namespace_path: 'team/' }, null],
  ['from the root, if the service has a namespace', token, 'team'],
  ["from a namespace below the service's", { ...token, namespace_path: 'team/a/' }, 'team'],
  ['from another mount', { ...token, path: 'auth/jwt-other/login' }, null],
  ['from another call', { ...token, path: 'auth/token/create' }, null],
  ['of another role', { ...token, meta: { ...meta, role: 'tenancy-service' } }, null],
  ['without login metadata', { ...token, meta: null }, null],
  ['of type batch, which has no accessor', { ...token, accessor: '' }, null],
  ['of another subject than a backend', { ...token, meta: { ...meta, backend: 'tenancy-service' } }, null],
  ['without an environment', { ...token, meta: { ...meta, env: undefined } }, null],
  ['without a generation', { ...token, meta: { ...meta, gen: '' } }, null],
  ['with a generation that is not a number', { ...token, meta: { ...meta, gen: '1e3' } }, null],
])('rejects a token %s', (_what, found, namespace) => {
  expect(bearerIdentityOf(found, namespace)).toBeNull();
});
