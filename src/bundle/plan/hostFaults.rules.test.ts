import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { anyHost, type OrchestratorName } from '../policy/policyHost.rules.ts';
import type { EngineMeans } from './bundleToStart.rules.ts';
import { type HostFacts, noHost, planOf } from './plan.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const manifest: Manifest = {
  ...{ schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, production: false, compose: ['compose.yaml'] },
  ...{ agent: { allow_privileged: true, allow_rollback: false }, disk_need_bytes: null },
  ...{ profiles: [], registries: [], variables: { CPUS: '9', PORT: '443' } },
  secrets: [{ var: 'SECRET', path: 'deployd/data/eu-1/see/db', field: 'password', version: null }],
};
const means: EngineMeans = {
  isPodman: false,
  apiVersion: '1.51',
  cpus: 2,
  memoryBytes: 2 ** 31,
  architecture: 'x86_64',
  hasIpv6Pool: false,
  networks: [{ name: 'proxy', subnets: ['172.20.0.0/16'] }],
  names: { networks: new Set(['proxy', 'bridge']), volumes: new Set(['media']) },
  takenPorts: [
    { protocol: 'tcp', address: '127.0.0.1', port: 5432, user: 'a program on this host' },
    { protocol: 'tcp', address: '0.0.0.0', port: 443, user: 'container proxy-web-1' },
    { protocol: 'udp', address: '::', port: 53, user: 'a program on this host' },
  ],
};
const old = { apiVersion: '1.41' };
const accounts = new Map([['a', { users: new Set(['root', 'app']), groups: new Set(['staff']) }]]);

interface Site {
  engine?: Partial<EngineMeans> | null;
  isApplied?: boolean;
  orchestrator?: OrchestratorName;
}

function planned(text: string, { engine = {}, isApplied = false, orchestrator = 'compose' }: Site = {}) {
  const parsed = parseComposeFile('compose.yaml', text);
  if (!('file' in parsed)) throw new Error(JSON.stringify(parsed));
  const bundle = {
    ...{ manifest, sha: null, version: '1', variables: manifest.variables, refusals: [], isApplied },
    ...{
      digests: new Map(),
      texts: new Map(),
      project: composeProjectOf([parsed.file]),
      releaseFiles: new Set(['compose.yaml']),
    },
  };
  const known: HostFacts['engine'] = {
    known: {
      ...{ volumes: [], orphanedVolumes: [], services: new Set<string>(), headroomBytes: 0 },
      policyFacts: {
        outside: {
          containers: new Set(['deployd-eu-1-taken-1']),
          networks: new Set<string>(),
          volumes: new Set<string>(),
        },
        mountsSubpaths: true,
      },
      filesystems: [{ device: 1, paths: ['/var'], freeBytes: 1 }],
      means: { ...means, ...engine },
    },
  };
  return planOf(bundle, {
    ...noHost,
    policyHost: { ...anyHost, orchestrator },
    ...(engine !== null && { engine: known }),
  });
}

const web = (keys: string, top = '') => `services: {web: {image: a, ${keys}}}\n${top}`;
const onNetwork = (address: string, more = '') =>
  web(
    `networks: {n: {${address}}}${more}`,
    'networks: {n: {ipam: {config: [{subnet: 10.5.0.0/24, gateway: 10.5.0.1}]}}}',
  );
const secret = 'secrets: {s: {environment: SECRET}}';
const job = 'depends_on: {init: {condition: service_completed_successfully}}';

const refusalsOf = (text: string, site?: Site) =>
  planned(text, site).refusals.flatMap(({ code, faults = [] }) => faults.map((fault) => `${code}: ${fault.text}`));

describe('a plan on a host refuses what compose and engine will refuse', () => {
  it.each<[string, string, Site?]>([
    ['user nobody is not in its image a (compose.yaml:1)', web('user: nobody'), { engine: { accounts } }],
    ['group app is not in its image a (compose.yaml:1)', web('user: "0:app"'), { engine: { accounts } }],
    ['cpus 9 is more than the 2 CPUs of this host (compose.yaml:1)', web('cpus: 9')],
    ['cpus 9 is more than the 2 CPUs of this host (compose.yaml:1)', web('cpus: "${CPUS}"')],
    ['cpus 2.5 is more than the 2 CPUs of this host (compose.yaml:1)', web('cpus: "${X:-2.5}"')],
    [
      'deploy.resources.limits.cpus 2.01 is more than the 2 CPUs of this host (compose.yaml:1)',
      web('deploy: {resources: {limits: {cpus: "2.01"}}}'),
    ],
    ['mem_limit is 1048576 bytes, and Docker gives a container at least 6 MiB (compose.yaml:1)', web('mem_limit: 1m')],
    ['mem_limit is 512 bytes, and Docker gives a container at least 6 MiB (compose.yaml:1)', web('mem_limit: 512')],
    ['mem_limit is less than what is reserved (compose.yaml:1)', web('mem_limit: 1g, mem_reservation: 2g')],
    [
      'memswap_limit is less than the memory limit, which it includes (compose.yaml:1)',
      web('mem_limit: 1g, memswap_limit: 512m'),
    ],
    ['memswap_limit needs a mem_limit (compose.yaml:1)', web('memswap_limit: 1g')],
    [
      'secrets s cannot be copied into a container that is read_only (compose.yaml:1)',
      web('read_only: true, secrets: [s]', secret),
    ],
    [
      'secrets s cannot be copied into a container that is read_only (compose.yaml:1)',
      web('read_only: true, tmpfs: [/run/secrets], secrets: [{source: s, target: x}]', secret),
    ],
    [
      'configs c cannot be copied into a container that is read_only (compose.yaml:1)',
      web('read_only: true, configs: [c]', 'configs: {c: {content: x}}'),
    ],
    ['ports 8080 is one port for 2 containers (compose.yaml:1)', web('scale: 2, ports: ["8080:80"]')],
    [
      'ports 8080-8081 are 2 ports for 3 containers (compose.yaml:1)',
      web('deploy: {replicas: 3}, ports: ["8080-8081:80"]'),
    ],
    [
      'ports 8080 is one port for 2 containers (compose.yaml:1)',
      web('scale: 2, ports: [{target: 80, published: "8080"}]'),
    ],
    ['ports 8080 is published by another entry too (compose.yaml:1)', web('ports: ["8080:80", "8080:81"]')],
    ['ports 8081 is published by another entry too (compose.yaml:1)', web('ports: ["8080-8081:80-81", "8081:90"]')],
    ['ports 5432 is in use on this host, by a program on this host (compose.yaml:1)', web('ports: ["5432:5432"]')],
    [
      'ports 127.0.0.1:443 is in use on this host, by container proxy-web-1 (compose.yaml:1)',
      web('ports: ["127.0.0.1:${PORT}:80"]'),
    ],
    ['ports 53/udp is in use on this host, by a program on this host (compose.yaml:1)', web('ports: ["53:53/udp"]')],
    [
      'healthcheck.start_interval needs Docker 25 or newer, and the engine of this host is older (compose.yaml:1)',
      web('healthcheck: {test: x, start_interval: 1s}'),
      { engine: old },
    ],
    [
      'networks.n.ipv4_address 10.5.1.2 is outside the subnet of its network (compose.yaml:1)',
      onNetwork('ipv4_address: 10.5.1.2'),
    ],
    [
      'networks.n.ipv4_address 10.5.0.1 is the address of the gateway (compose.yaml:1)',
      onNetwork('ipv4_address: 10.5.0.1'),
    ],
    [
      'networks.n.ipv4_address 10.5.0.2 is one address for several containers (compose.yaml:1)',
      onNetwork('ipv4_address: 10.5.0.2', ', scale: 2'),
    ],
    [
      'networks.n.ipv4_address 10.5.0.2 needs a subnet, which its network does not name (compose.yaml:1)',
      web('networks: {n: {ipv4_address: 10.5.0.2}}', 'networks: {n: {}}'),
    ],
  ])('service web: %s', (text, compose, site = {}) => {
    expect(refusalsOf(compose, site)).toEqual([`COMPOSE_REFUSED: service web: ${text}`]);
    expect(planned(compose, { ...site, isApplied: true }).refusals).toEqual([]);
    expect(refusalsOf(compose, { ...site, orchestrator: 'swarm' })).not.toContain(
      `COMPOSE_REFUSED: service web: ${text}`,
    );
  });

  it.each<[string, string, Site?]>([
    [
      'network default: enable_ipv6 needs an IPv6 subnet: the engine of this host has no IPv6 address pool (compose.yaml:2)',
      web('', 'networks: {default: {enable_ipv6: true}}'),
      { engine: old },
    ],
    [
      'network default: its subnet overlaps the subnet of network proxy, which is outside the project (compose.yaml:2)',
      web('', 'networks: {default: {ipam: {config: [{subnet: 172.20.3.0/24}]}}}'),
    ],
    [
      'network n: external, and this host has no network other (compose.yaml:2)',
      web('networks: [n]', 'networks: {n: {external: true, name: other}}'),
    ],
    [
      'volume data: external, and this host has no volume data (compose.yaml:2)',
      web('volumes: ["data:/x"]', 'volumes: {data: {external: true}}'),
    ],
    [
      'service taken is not a name here: deployd-eu-1-taken-1 is a container outside the project',
      'services: {taken: {image: a}}',
    ],
    [
      'service two: ports 8080 is published by service web too (compose.yaml:1)',
      'services: {web: {image: a, ports: ["0.0.0.0:8080:80"]}, two: {image: a, ports: ["8080:80"]}}',
    ],
  ])('%s', (text, compose, site = {}) => {
    expect(refusalsOf(compose, site)).toContain(`COMPOSE_REFUSED: ${text}`);
  });

  it.each<[string, string, Site?]>([
    ['CPUs that the host has', web('cpus: 2')],
    ['CPUs that a secret decides', web('cpus: "${SECRET}"')],
    ['CPUs of an engine that does not know its own', web('cpus: 9'), { engine: { cpus: 0 } }],
    ['CPUs on Podman', web('cpus: 9'), { engine: { isPodman: true } }],
    ['little memory on Podman', web('mem_limit: 1m'), { engine: { isPodman: true } }],
    ['memory without a limit', web('mem_limit: 0, memswap_limit: -1')],
    [
      'a file of the bundle as a secret of a read_only service',
      web('read_only: true, configs: [c]', 'configs: {c: {file: ./compose.yaml}}'),
    ],
    ['a secret of a service that may be written', web('secrets: [s]', secret)],
    ['a range for several containers', web('scale: 2, ports: ["8080-8081:80"]')],
    ['ports that the engine chooses', web('scale: 2, ports: ["80", {target: 81}]')],
    ['a port of a service without containers', web('scale: 0, ports: ["443:443"]')],
    ['a port of another protocol', web('ports: ["443:443/udp", "53:53"]')],
    ['a port at another address', web('ports: ["127.0.0.2:5432:5432"]')],
    ['a user of the image', web('user: "app:staff"'), { engine: { accounts } }],
    ['a user by number', web('user: "7:8"'), { engine: { accounts } }],
    [
      'a user of a mounted file',
      web('user: me, volumes: ["users:/etc"]', 'volumes: {users: {}}'),
      { engine: { accounts } },
    ],
    ['a user of an image that was not read', web('user: me')],
    ['a range in which a port is taken', web('ports: ["443-450:80"]')],
    ['the same entry twice', web('ports: ["8080:80", "8080:80/tcp"]')],
    [
      'a port that a job uses before',
      `services: {init: {image: a, ports: ["80:80"]}, web: {image: a, ${job}, ports: ["80:80"]}}`,
    ],
    ['a port on the network of the host', web('network_mode: none, ports: ["443:443"]')],
    ['start_interval without a healthcheck', web('healthcheck: {disable: true, start_interval: 1s}'), { engine: old }],
    [
      'IPv6 with a pool',
      web('', 'networks: {default: {enable_ipv6: true}}'),
      { engine: { ...old, hasIpv6Pool: true } },
    ],
    [
      'IPv6 with a subnet',
      web('', 'networks: {default: {enable_ipv6: true, ipam: {config: [{subnet: "fd00:9::/64"}]}}}'),
      { engine: old },
    ],
    ['IPv6 of a new engine', web('', 'networks: {default: {enable_ipv6: true}}')],
    ['an address of the subnet', onNetwork('ipv4_address: 10.5.0.2')],
    [
      'an external network of a swarm',
      web('networks: [n]', 'networks: {n: {external: true}}'),
      { engine: { names: { networks: null, volumes: new Set() } } },
    ],
    ['an external volume that nothing mounts', web('', 'volumes: {x: {external: true}}')],
    ['an external volume that is there', web('volumes: ["media:/x"]', 'volumes: {media: {external: true}}')],
  ])('but not %s', (_title, compose, site = {}) => {
    expect(refusalsOf(compose, site)).toEqual([]);
    expect(planned(compose, site).notices).toEqual([]);
  });
});

it('a plan without a host names in its notices what every host with Docker refuses', () => {
  const { refusals, notices } = planned(web('mem_limit: 1m, cpus: 9, ports: ["443:443"]'), { engine: null });
  expect(refusals).toEqual([]);
  expect(notices.map(({ text }) => text)).toEqual([
    'service web: mem_limit is 1048576 bytes, and Docker gives a container at least 6 MiB (compose.yaml:1)',
  ]);
});
