import { denials, permitKeys } from '../../api/hostPolicy.rules.ts';
import { compileConfig } from '../compileSchema.ts';
import { keyTableOf, mergeDefaults, schemaOf } from './keyTable.ts';
import { validateKeys, parseYamlSource } from './configFile.ts';
import { policyKeys } from './sharedKeys.ts';

const table = keyTableOf(policyKeys);
const validate = compileConfig(schemaOf(table));
const aPermit = `must be a mapping of lists of at most 64 entries of 253 characters (keys: binds, engine_socket, capabilities, devices, networks, volumes, host_network, security_opt, gpus, sysctls, groups, host_pid, host_ipc, privileged). binds: absolute paths without "..", with :ro for read-only access; devices: device files; capabilities: names without CAP_; other keys: names`;

function problemsOf(policy: object): string[] {
  const source = parseYamlSource(`policy: ${JSON.stringify(policy)}\n`);
  const merged = mergeDefaults(table, source.values as Record<string, unknown>);
  return validateKeys({ table, validate }, merged, source).map(({ key, message }) => `${key}: ${message}`);
}

const permit = (key: string, ...entries: unknown[]) => problemsOf({ permit: { [key]: entries } });

describe('a permit', () => {
  it.each([
    ...[
      '/a',
      '/a/b.c',
      '/a/b:ro',
      '/srv/*',
      '/srv/**',
      '/srv/**:ro',
      '/**',
      '/**:ro',
      '/.a',
      '/...',
      '/a/..b',
      '/a b',
      '/ro',
    ],
    ...['/a/.b:ro', '/ä'],
  ])('of the path %s can be given', (path) => {
    expect(permit('binds', path)).toEqual([]);
  });

  it.each([
    ...[
      '',
      'a',
      './a',
      '/',
      '/a/',
      '/a//b',
      '/..',
      '/.',
      '/a/..',
      '/a/../b',
      '/a/./b',
      '/a/.',
      '/..:ro',
      '/a/.:ro',
      '//a',
    ],
    ...[
      '/a:rw',
      '/a:ro:ro',
      ':ro',
      '/:ro',
      '/a\n',
      '/a\u0000',
      '/a\u0085',
      ' /a',
      '~/a',
      '/a/:ro',
      '/../**',
      '/..a/..',
    ],
  ])('of the path %j cannot', (path) => {
    expect(permit('binds', path)).toEqual([`policy.permit.binds.0: ${aPermit}`]);
  });

  it.each(['/dev/a', '/dev/ttyUSB*', '/dev/dri/card0'])('of the device %s can be given', (device) => {
    expect(permit('devices', device)).toEqual([]);
  });

  it.each(['/dev', '/dev/', '/devx', '/x/dev/a', '/dev/../a', '/dev/a/..', '/dev/a:ro', 'dev/a', '/etc', '/dev/a\n'])(
    'of the device %j cannot',
    (device) => {
      expect(permit('devices', device)).toEqual([`policy.permit.devices.0: ${aPermit}`]);
    },
  );

  it.each([
    ['NET_ADMIN', true],
    ['ALLX', true],
    ['X'.repeat(64), true],
    ['X'.repeat(65), false],
    ['ALL', false],
    ['CAP_NET_ADMIN', false],
    ['net_admin', false],
    ['NET ADMIN', false],
    ['', false],
  ])('of the capability %s: %j', (capability, isValid) => {
    expect(permit('capabilities', capability)).toEqual(isValid ? [] : [`policy.permit.capabilities.0: ${aPermit}`]);
  });

  const byName = permitKeys.filter((key) => !['binds', 'devices', 'capabilities'].includes(key));
  it.each(byName)('of %s is a name without blanks', (key) => {
    expect(permit(key, 'a', 'b:c/d=e')).toEqual([]);
    for (const name of ['', 'a b', 'a\n', '\u0000', 5])
      expect(permit(key, name)).toEqual([`policy.permit.${key}.0: ${aPermit}`]);
  });

  it('has at most 64 entries of 253 characters, none twice', () => {
    const names = Array.from({ length: 65 }, (_, n) => `n${n}`);
    expect(permit('networks', ...names.slice(1))).toEqual([]);
    expect(permit('networks', ...names)).toEqual([`policy.permit.networks: ${aPermit}`]);
    expect(permit('networks', 'a', 'a')).toEqual([`policy.permit.networks: ${aPermit}`]);
    expect(permit('networks', 'a'.repeat(253))).toEqual([]);
    expect(permit('networks', 'a'.repeat(254))).toEqual([`policy.permit.networks.0: ${aPermit}`]);
  });

  it('is a mapping of lists, of known kinds', () => {
    expect(problemsOf({ permit: [] })).toEqual([`policy.permit: ${aPermit}`]);
    expect(problemsOf({ permit: { binds: '/a' } })).toEqual([`policy.permit.binds: ${aPermit}`]);
    expect(problemsOf({ permit: { all: [] } })).toEqual([`policy.permit.all: unknown key; policy.permit ${aPermit}`]);
  });
});

it('denials are words, none twice, and images one', () => {
  const someDenials = `must be a list of ${denials.join(', ')}, none twice`;
  expect(problemsOf({ deny: denials, images: 'digest' })).toEqual([]);
  expect(problemsOf({ deny: ['all'] })).toEqual([`policy.deny.0: ${someDenials}`]);
  expect(problemsOf({ deny: ['purge', 'purge'] })).toEqual([`policy.deny: ${someDenials}`]);
  expect(problemsOf({ deny: 'purge' })).toEqual([`policy.deny: ${someDenials}`]);
  expect(problemsOf({ images: 'signed' })).toEqual(['policy.images: must be one of any, digest']);
  expect(problemsOf({ denny: [] })).toEqual(['policy.denny: unknown key; the nearest known key is deny under policy']);
});
