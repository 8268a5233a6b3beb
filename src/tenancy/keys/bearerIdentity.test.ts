import { bearerIdentityOf } from './bearerCache.ts';

const meta = { role: 'deploy-agent', backend: 'backend:b-1', env: 'eu-1', gen: '7' };
const token = { path: 'auth/jwt-tenancy/login', accessor: 'a-1', meta };
const identity = { backendId: 'b-1', env: 'eu-1', generation: 7, accessor: 'a-1' };

it.each([
  ['in the root', token, null],
  ['in its namespace', { ...token, namespace_path: 'team/a/' }, 'team/a'],
  ['in a namespace that is configured with slashes', { ...token, namespace_path: 'team/a/' }, '/team/a/'],
])('the token of a backend %s is taken', (_where, found, namespace) => {
  expect(bearerIdentityOf(found, namespace)).toEqual(identity);
});

it.each<[string, Record<string, unknown>, string | null]>([
  ['a mount of the same name in a namespace below', { ...token, namespace_path: 'team/' }, null],
  ['the root, where ours is a namespace', token, 'team'],
  ['a namespace below ours', { ...token, namespace_path: 'team/a/' }, 'team'],
  ['another mount', { ...token, path: 'auth/jwt-other/login' }, null],
  ['another call', { ...token, path: 'auth/token/create' }, null],
  ['another role', { ...token, meta: { ...meta, role: 'tenancy-service' } }, null],
  ['no login', { ...token, meta: null }, null],
  ['a batch token, which has no accessor', { ...token, accessor: '' }, null],
  ['no backend', { ...token, meta: { ...meta, backend: 'tenancy-service' } }, null],
  ['no env', { ...token, meta: { ...meta, env: undefined } }, null],
  ['no generation', { ...token, meta: { ...meta, gen: '' } }, null],
  ['a generation that is not a number', { ...token, meta: { ...meta, gen: '1e3' } }, null],
])('a token of %s is nobody’s', (_what, found, namespace) => {
  expect(bearerIdentityOf(found, namespace)).toBeNull();
});
