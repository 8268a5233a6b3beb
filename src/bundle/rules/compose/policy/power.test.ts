import { formatPermitted, permitCure, permitEntry } from './power.ts';

it.each([
  [{ permit: 'capabilities', entry: 'NET_ADMIN', service: 'web' }, 'capabilities NET_ADMIN for service web'],
  [{ permit: 'networks', entry: 'proxy' }, 'networks proxy'],
  [{ permit: 'host_network', entry: 'web', service: 'web' }, 'host_network web'],
  [{ permit: 'engine_socket', entry: 'web', service: 'web' }, 'engine_socket web, which is root on the host'],
  [{ permit: 'privileged', entry: 'web', service: 'web' }, 'privileged web, which is root on the host'],
  [{ permit: 'binds', entry: '/a\nb', service: 'a\tb' }, 'binds /a\ufffdb for service a\ufffdb'],
] as const)('%j is told', (power, text) => {
  expect(formatPermitted(power)).toBe(`permitted here: ${text}`);
});

it.each([
  [{ permit: 'binds', entry: '/a', isWritable: false }, '/a:ro'],
  [{ permit: 'binds', entry: '/a', isWritable: true }, '/a'],
  [{ permit: 'binds', entry: '/a' }, '/a'],
  [{ permit: 'devices', entry: '/dev/a' }, '/dev/a'],
] as const)('%j is granted by %s', (power, entry) => {
  expect(permitEntry(power)).toBe(entry);
});

it('the cure names the entry, unless it may be a secret', () => {
  expect(permitCure('networks', 'a"b')).toBe(
    String.raw`permit it by policy: {permit: {networks: ["a\"b"]}} in config.yaml of the host`,
  );
  expect(permitCure('networks')).toBe('permit it by policy.permit.networks in config.yaml of the host');
});
