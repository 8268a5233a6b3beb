import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { defaultPolicy, type HostPolicy } from '../../../protocol/hostPolicy.ts';
import { checkPolicy, permittedDirectory } from './policyCheck.ts';

const fix = 'sudoedit /etc/deployd/config.yaml';
const known = ['/', '/srv', '/srv/shop', '/srv/state', '/srv/state/eu-1', '/tmp/x', '/run'];

function linesOf(policy: Partial<HostPolicy>): string[] {
  const check = checkPolicy({
    policy: { ...defaultPolicy, ...policy },
    configPath: '/etc/deployd/config.yaml',
    protectedPaths: ['/srv/state', '/run/docker.sock'],
    targets: new Map([...known.map((path) => [path, path] as const), ['/srv/link', '/mnt']]),
    networks: new Set(['proxy']),
    volumes: new Set(['media']),
  });
  const [status = '', , ...findings] = checkLines(check);
  return [status, ...findings];
}

it.each([
  ['/srv/shop/**', '/srv/shop'],
  ['/srv/*/data:ro', '/srv'],
  ['/srv/a*', '/srv'],
  ['/srv/shop:ro', '/srv/shop'],
  ['/**', '/'],
])('%s is looked up as %s', (entry, path) => {
  expect(permittedDirectory(entry)).toBe(path);
});

it.each<Partial<HostPolicy>>([
  { permit: { binds: ['/srv/shop/**', '/srv/**', '/srv/shop:ro', '/**', '/srv/*/data', '/run/**'] } },
  { permit: { networks: ['proxy'], volumes: ['media'], engine_socket: ['traefik'] } },
  { deny: ['privileged', 'host_network', 'engine_socket'] },
  { deny: ['rollback', 'purge'], images: 'digest' },
])('%j has an effect', (policy) => {
  expect(linesOf(policy)).toEqual(['policy: passed']);
});

const own = 'it belongs to deployd or to the container engine, or holds what does';

it.each([
  ['/srv/state/**', own],
  ['/srv/state/eu-1', own],
  ['/srv', own],
  ['/run:ro', own],
  ['/srv/none', '/srv/none does not exist'],
  ['/srv/link/**', '/srv/link leads to /mnt, which is what has to be permitted'],
  ['/tmp/x', 'deployd cannot see where paths there lead'],
])('%s lets nothing through', (entry, why) => {
  const problem = `policy.permit.binds: ${entry} lets nothing through: ${why}`;
  expect(linesOf({ permit: { binds: [entry] } })).toEqual(['policy: failed', problem, fix]);
});

it('a network or a volume that is missing, and a denial that a privileged container evades, are told', () => {
  expect(linesOf({ permit: { networks: ['a'], volumes: ['b'] }, deny: ['engine_socket'] })).toEqual([
    ...['policy: failed', 'the network a, which is permitted, does not exist', 'docker network create a'],
    ...['the volume b, which is permitted, does not exist', 'docker volume create b'],
    ...['policy.deny: engine_socket does not bind a privileged container: deny privileged too', fix],
  ]);
});

it('each denial that a privileged container evades is told, and no other', () => {
  expect(linesOf({ deny: ['host_network', 'purge'] })).toEqual([
    ...['policy: failed', 'policy.deny: host_network does not bind a privileged container: deny privileged too', fix],
  ]);
});
