import type { CreatedContainer } from '../engine/createdContainer.rules.ts';
import { type NetworkEntry, networkFactsOf } from '../engine/resources.rules.ts';
import { networkDefinitionOf } from '../release/grantedPrivileges.rules.ts';
import { containersOn, planNetworks, takenNetworks, unusedNetworks } from './networks.rules.ts';

const compose = { 'com.docker.compose.project': 'p', 'com.docker.compose.config-hash': 'x' };
const pool = { Subnet: '172.18.0.0/16', Gateway: '172.18.0.1' };
const engineDefault: NetworkEntry = {
  Driver: 'bridge',
  Internal: false,
  Attachable: false,
  EnableIPv6: false,
  Options: { 'com.docker.network.enable_ipv4': 'true', 'com.docker.network.driver.mtu': '1450' },
  Labels: compose,
  IPAM: { Driver: 'default', Options: {}, Config: [pool] },
};
const withSubnet = (Subnet: string, more: object = {}) => ({ IPAM: { Config: [{ Subnet, ...more }] } });
const networkOf = (name: string, entry: NetworkEntry, isPodman = false) => {
  const facts = networkFactsOf({ ...engineDefault, ...entry }, isPodman);
  return { id: `id of ${name}`, name, project: 'p', facts, isPodman };
};
const hide = (fact: string) => `hidden ${fact.length}`;

interface Case {
  file?: object;
  engine?: NetworkEntry;
  earlier?: object;
  isPodman?: boolean;
}

function whyOf({ file = {}, engine = {}, earlier = {}, isPodman = false }: Case): string | null {
  const [found] = planNetworks({
    wanted: { n: networkDefinitionOf(file as never) },
    asked: { n: networkDefinitionOf(earlier as never) },
    networks: [networkOf('n', engine, isPodman)],
    foreign: [],
    project: 'p',
    hide,
  }).removed;
  return found?.why ?? null;
}

const ipam = (subnet: string, more: object = {}) => ({ ipam: { config: [{ subnet, ...more }] } });

it.each<[string, Case]>([
  ['with the defaults of the engine', {}],
  [
    'whose file spells the defaults',
    { file: { driver: 'bridge', internal: false, labels: {}, ipam: { driver: 'default' } } },
  ],
  ['whose subnet is written in another form', { file: ipam('10.1.0.7/24'), engine: withSubnet('10.1.0.0/24') }],
  ['with an IPv6 subnet written in full', { file: ipam('fd00:0:0::/64'), engine: withSubnet('fd00::/64') }],
  [
    'whose subnet the engine supplements',
    { file: ipam('10.1.0.0/24'), engine: withSubnet('10.1.0.0/24', { Gateway: '10.1.0.1' }) },
  ],
  ['with IPv6 from the daemon’s defaults', { engine: { EnableIPv6: true } }],
  ['of Podman, which reports no attachable', { file: { attachable: true, driver_opts: { mtu: 9 } }, isPodman: true }],
  [
    'of another address manager',
    {
      file: { ...ipam('10.1.0.0/24'), driver: 'bridge', ipam: { driver: 'x' } },
      engine: { IPAM: { Driver: 'x', Config: [pool] } },
    },
  ],
  [
    'that keeps what another release asked for',
    { file: ipam('10.1.0.0/24'), earlier: ipam('10.1.0.0/24'), engine: withSubnet('10.1.0.0/24') },
  ],
])('keeps a network %s', (_what, given) => {
  expect(whyOf(given)).toBeNull();
});

it.each<[Case, string]>([
  [{ file: { driver: 'macvlan' } }, 'driver macvlan'],
  [{ file: ipam('10.1.0.0/24') }, 'subnet 10.1.0.0/24'],
  [{ file: ipam('10.1.0.0/25'), engine: withSubnet('10.1.0.0/24') }, 'subnet 10.1.0.0/25'],
  [
    { file: ipam('10.1.0.0/24', { gateway: '10.1.0.9' }), engine: withSubnet('10.1.0.0/24') },
    'gateway 10.1.0.9 of 10.1.0.0/24',
  ],
  [
    { file: ipam('10.1.0.0/24', { ip_range: '10.1.0.128/25' }), engine: withSubnet('10.1.0.0/24') },
    'range 10.1.0.128/25 of 10.1.0.0/24',
  ],
  [{ earlier: ipam('172.18.0.0/16') }, 'subnet 172.18.0.0/16'],
  [{ engine: withSubnet('10.1.0.0/24', { AuxiliaryAddresses: { host: '10.1.0.5' } }) }, 'address host of 10.1.0.0/24'],
  [{ file: { internal: true } }, 'internal'],
  [{ engine: { Internal: true } }, 'internal'],
  [{ file: { attachable: true } }, 'attachable'],
  [{ engine: { Attachable: true } }, 'attachable'],
  [{ file: { enable_ipv6: true } }, 'ipv6'],
  [{ file: { enable_ipv6: false }, engine: { EnableIPv6: true } }, 'without ipv6'],
  [{ earlier: { enable_ipv6: true }, engine: { EnableIPv6: true } }, 'ipv6'],
  [{ file: { labels: { a: '1' } } }, 'label a'],
  [{ engine: { Labels: { ...compose, a: '1' } } }, 'label a'],
  [{ file: { driver_opts: { o: '1' } }, engine: { Options: { o: '2' } } }, 'option o'],
  [{ engine: { Options: { o: '2' } } }, 'option o'],
  [{ earlier: { driver_opts: { 'com.docker.network.driver.mtu': 1450 } } }, 'option com.docker.network.driver.mtu'],
  [{ file: { ipam: { driver: 'x' } } }, 'ipam driver x'],
  [{ file: ipam('10.1.0.0/24'), isPodman: true }, 'subnet 10.1.0.0/24'],
])('recreates a network in the case %j: %s', (given, what) => {
  expect(whyOf(given)).toBe(`its definition changed (${what})`);
});

it('finds definitions that are stored without their secrets, and prints no secret', () => {
  const [secret, other] = [hide('label key=hunter2'), hide('a longer label key=hunter2')];
  const plan = (fact: string) =>
    planNetworks({
      wanted: { n: ['driver bridge', fact] },
      asked: {},
      networks: [networkOf('n', { Labels: { key: 'hunter2' } })],
      foreign: [],
      project: 'p',
      hide,
    }).removed.map(({ why }) => why);
  expect(plan(secret)).toEqual([]);
  expect(plan(other)).toEqual(['its definition changed (a secret value, label key)']);
});

it('removes an old network that has a subnet of a new one, and keeps other old ones', () => {
  const { removed } = planNetworks({
    wanted: { new: ['subnet 10.1.0.0/16'] },
    asked: {},
    networks: [networkOf('old', withSubnet('10.1.2.0/24')), networkOf('older', {})],
    foreign: [],
    project: 'p',
    hide,
  });
  expect(removed.map(({ network, why }) => `${network.name}: ${why}`)).toEqual([
    'old: its subnet 10.1.2.0/24 is needed by another network',
  ]);
});

it('removes no network of another project, and none that other containers use', () => {
  const plan = planNetworks({
    wanted: { n: ['driver bridge', 'internal'], m: ['driver bridge', 'internal'] },
    asked: {},
    networks: [networkOf('n', {}), { ...networkOf('m', {}), project: null }],
    foreign: [
      { name: 'z', networks: ['n'] },
      { name: 'a', networks: ['n', 'm'] },
    ],
    project: 'p',
    hide,
  });
  expect(plan).toEqual({
    removed: [],
    conflicts: [{ name: 'n', why: 'its definition changed (internal)', users: ['a', 'z'] }],
  });
});

it('finds unused networks of the project, and who uses them', () => {
  const networks = [
    networkOf('n', {}),
    networkOf('old', {}),
    networkOf('used', {}),
    { ...networkOf('o', {}), project: 'q' },
  ];
  const users = [{ name: 'guest', networks: ['used'] }];
  const found = unusedNetworks(networks, { names: (name) => name === 'n', users, project: 'p' });
  expect(found.map(({ network, users: using }) => [network.name, using])).toEqual([
    ['old', []],
    ['used', ['guest']],
  ]);
});

it('finds the containers on a network and those that share a namespace with them', () => {
  const container = (Id: string, network: string | null, HostConfig: object = {}) =>
    ({
      Id,
      HostConfig,
      NetworkSettings: { Networks: network === null ? null : { [network]: null } },
    }) as CreatedContainer;
  const all = [
    container('c', null, { PidMode: 'container:b' }),
    container('b', null, { NetworkMode: 'container:a' }),
    container('a', 'n'),
    container('d', 'm'),
  ];
  expect(
    containersOn(['n'], all)
      .map(({ Id }) => Id)
      .sort(),
  ).toEqual(['a', 'b', 'c']);
});

it('takes a network with a defined name that another program made, unless a container of the project uses it', () => {
  const network = (name: string, project: string | null) => ({ id: name, name, project });
  const networks = [
    network('p_a', null),
    network('p_b', 'other'),
    network('p_c', 'p'),
    network('p_d', null),
    network('e', null),
  ];
  const on = (...names: string[]) =>
    ({
      Id: 'x',
      HostConfig: {},
      NetworkSettings: { Networks: Object.fromEntries(names.map((name) => [name, {}])) },
    }) as unknown as CreatedContainer;
  const wanted = { p_a: [], p_c: [], p_d: [], [hide('p_b')]: [] };
  expect(takenNetworks(networks, { wanted, project: 'p', hide, created: [on('p_d')] })).toEqual(['p_a', 'p_b']);
});
