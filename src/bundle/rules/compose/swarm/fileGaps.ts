import { entriesOf } from '../document/composeNode.ts';
import { keyGap, nodesAt, type KeyGap } from '../effect/keyGap.ts';

const leaveOut = 'leave it out';
const unknown = 'stack files do not know it';
const labels = 'the agent names and labels itself what the swarm keeps';

/** The options of a network that hold for one of several nodes too. */
const overlayOption = /^com\.docker\.network\.driver\.mtu$/;

/** What a file may not say in a swarm, besides its services. */
export const fileGaps: readonly KeyGap[] = [
  ...[
    ['configs.*.labels', labels, 'configs: {a: {content: a, labels: {a: b}}}'],
    ['secrets.*.labels', labels, 'secrets: {a: {environment: A, labels: {a: b}}}'],
    ['networks.*.enable_ipv4', unknown, 'networks: {a: {enable_ipv4: true}}'],
    ['networks.*.enable_ipv6', unknown, 'networks: {a: {enable_ipv6: true}}'],
    [
      'networks.*.ipam.config[].aux_addresses',
      unknown,
      'networks: {a: {ipam: {config: [{subnet: 10.9.0.0/24, aux_addresses: {a: 10.9.0.9}}]}}}',
    ],
    [
      'networks.*.ipam.config[].gateway',
      unknown,
      'networks: {a: {ipam: {config: [{subnet: 10.9.0.0/24, gateway: 10.9.0.1}]}}}',
    ],
    [
      'networks.*.ipam.config[].ip_range',
      unknown,
      'networks: {a: {ipam: {config: [{subnet: 10.9.0.0/24, ip_range: 10.9.0.0/25}]}}}',
    ],
    ['networks.*.ipam.options', unknown, 'networks: {a: {ipam: {options: {b: c}}}}'],
  ].map(([key = '', why = '', example = '']) => keyGap({ key, why, cure: leaveOut, example })),
  keyGap(
    {
      ...{ key: 'networks.*.driver', why: 'only an overlay network reaches all nodes' },
      ...{ cure: leaveOut, example: 'networks: {a: {driver: bridge}}' },
    },
    (text) => text === '' || text === 'overlay',
  ),
  {
    key: 'networks.*.driver_opts',
    why: 'an overlay network leaves it out',
    cure: leaveOut,
    example: 'networks: {a: {driver_opts: {com.docker.network.bridge.enable_icc: "false"}}}',
    find: (file) =>
      nodesAt(file, ['networks', '*', 'driver_opts'])
        .flatMap(entriesOf)
        .flatMap(([name, value]) => (overlayOption.test(name) ? [] : [value])),
  },
];
