import { defaultPolicy } from '../../../../protocol/hostPolicy.ts';
import { bindFault, hostPathOf, matchesGlob, normalizeHostPath } from './hostPaths.ts';
import type { HostPaths } from './policyHost.ts';

const paths: HostPaths = {
  resolved: new Map([
    ['/srv/shop/data', '/srv/shop/data'],
    ['/srv/shop/link', '/etc/shadow'],
    ['/srv/alias', '/srv/shop/data'],
    ['/srv/shop/state', '/var/lib/deployd/eu-1'],
    ['/var', '/var'],
    ['/srv/shop', '/srv/shop'],
    ['/srv/old/data', '/srv/old/data'],
    ['/srv/read', '/srv/read'],
    ['/run', '/run'],
    ['/tmp/x', '/tmp/x'],
    ['/proc/1/root', '/'],
  ]),
  protectedPaths: ['/var/lib/deployd'],
  mountedNow: [
    { path: '/srv/old', isWritable: true },
    { path: '/srv/read/below', isWritable: false },
  ],
};
const host = { policy: defaultPolicy, engineSockets: ['/run/docker.sock'], paths };
const elsewhere = { ...host, paths: null };
const permitted = ['/srv/shop/**', '/srv/read/**', '/run/**', '/var/**', '/srv/old/**', '/tmp/**', '/proc/**'];
const bind = (entry: string, isWritable = true) => ({ permit: 'binds', entry, isWritable }) as const;
const faultOf = (entry: string, { isWritable = true, asked = [bind(entry, isWritable)], entries = permitted } = {}) =>
  bindFault(bind(entry, isWritable), entries, { asked, host });

it.each([
  ['/srv/shop/data', {}],
  ['/srv/shop', {}],
  ['/srv/read', { isWritable: false }],
  ['/srv/alias', {}],
  ['/srv/shop/data', { isWritable: false, entries: ['/srv/shop/data:ro'] }],
  ['/srv/shop/data', { entries: ['/srv/*/data'] }],
  ['/srv/shop/data', { isWritable: false, asked: [bind('/srv/shop/data', false), bind('/srv/shop', false)] }],
])('permits %s by %j', (path, options) => {
  expect(faultOf(path, options)).toBeNull();
});

it.each([
  ['/srv/shop/link', {}, 'it is or lies below a link, and no permit names where that leads (readlink -f)'],
  ['/srv/shop/state', {}, 'belongs to deployd or to the container engine, or holds what does: no permit reaches it'],
  ['/var', {}, 'belongs to deployd or to the container engine, or holds what does: no permit reaches it'],
  ['/run', {}, 'belongs to deployd or to the container engine, or holds what does: no permit reaches it'],
  ['/srv/shop/none', {}, 'does not exist, or deployd cannot follow it: no permit reaches it'],
  ['/tmp/x', {}, 'deployd cannot see where it leads: no permit reaches it'],
  ['/proc/1/root', {}, 'deployd cannot see where it leads: no permit reaches it'],
  ['/srv/read', {}, 'holds a path that a container of the project mounts: apply a bundle without that mount first'],
  ['/srv/old/data', {}, 'is below a directory that a container of the project may write to'],
  [
    '/srv/shop/data',
    { asked: [bind('/srv/shop')] },
    'is below a directory that a container of the project may write to',
  ],
  ['/srv/shop/data', { entries: ['/srv/shop/data:ro'] }, ''],
  ['/srv/shop/data', { entries: ['/srv/shop'] }, ''],
  ['/srv/shop/data', { entries: ['/srv/shop/dat', '/srv/*', '/srv/shop/data/*', '/SRV/shop/data'] }, ''],
])('does not permit %s by %j', (path, options, fault) => {
  expect(faultOf(path, options)).toBe(fault);
});

it('compares only the written path without facts of a host', () => {
  const asked = [bind('/srv/shop/none')];
  expect(bindFault(bind('/srv/shop/none'), permitted, { asked, host: elsewhere })).toBeNull();
  expect(bindFault(bind('/run'), permitted, { asked, host: elsewhere })).toMatch('no permit reaches it');
  expect(bindFault(bind('/srv/x'), permitted, { asked, host: elsewhere })).toBe('');
});

it.each([
  ['/srv/**', '/srv', true],
  ['/srv/**', '/srv/a/b', true],
  ['/srv/**', '/srvx', false],
  ['/**', '/', true],
  ['/dev/ttyUSB*', '/dev/ttyUSB0', true],
  ['/dev/ttyUSB*', '/dev/ttyUSB', true],
  ['/dev/*', '/dev/a/b', false],
  ['/a.b', '/axb', false],
  ['/a/*/c/**', '/a/b/c/d/e', true],
  ['/a/*/c/**', '/a/b/d/c', false],
])('the pattern %s matches %s: %j', (pattern, path, expected) => {
  expect(matchesGlob(pattern, path)).toBe(expected);
});

it.each([
  ['/', '/'],
  ['/srv//shop/', '/srv/shop'],
  ['/srv/./a/../b', '/srv/b'],
  ['/../..', '/'],
])('%s is the host path %s', (path, expected) => {
  expect(normalizeHostPath(path)).toBe(expected);
});

it('a doubled dollar sign of a compose file is one of the path', () => {
  expect(hostPathOf('/srv/$$x//')).toBe('/srv/$x');
});
