import { isFalse } from '../policy/validators.ts';
import { mountGaps } from './mountGaps.ts';
import { publishedRange, withoutHostIp } from './portGaps.ts';
import { keyGap, type KeyGap } from '../effect/keyGap.ts';

const leaveOut = 'leave it out';
const cpus = 'write deploy.resources.limits.cpus';
const memory = 'write deploy.resources.limits.memory';
const overlay = 'give services a network, and names as its aliases';

type Row = [key: string, cure: string, example: string];

/** Keys that no stack file has: `docker stack deploy` refuses them. */
const unknownKeys: readonly Row[] = [
  ['annotations', leaveOut, 'annotations: {run.oci.handler: krun}'],
  ['blkio_config', leaveOut, 'blkio_config: {weight: 300}'],
  ['cgroup', leaveOut, 'cgroup: private'],
  ['cpu_count', cpus, 'cpu_count: 2'],
  ['cpu_percent', cpus, 'cpu_percent: 50'],
  ['cpu_period', cpus, 'cpu_period: 100000'],
  ['cpu_quota', cpus, 'cpu_quota: 50000'],
  ['cpu_rt_period', leaveOut, 'cpu_rt_period: 1000000'],
  ['cpu_rt_runtime', leaveOut, 'cpu_rt_runtime: 950000'],
  ['cpu_shares', 'write deploy.resources.reservations.cpus', 'cpu_shares: 512'],
  ['cpus', cpus, 'cpus: 0.5'],
  ['cpuset', cpus, 'cpuset: "0"'],
  [
    'deploy.resources.reservations.devices',
    leaveOut,
    'deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}',
  ],
  ['device_cgroup_rules', leaveOut, 'device_cgroup_rules: ["c 1:3 mr"]'],
  ['dns_opt', leaveOut, 'dns_opt: [rotate]'],
  ['gpus', leaveOut, 'gpus: all'],
  ['group_add', 'give the group by user: "1000:1000"', 'group_add: ["1000"]'],
  ['healthcheck.start_interval', leaveOut, 'healthcheck: {test: a, start_interval: 1s}'],
  ['mem_limit', memory, 'mem_limit: 1g'],
  ['mem_reservation', 'write deploy.resources.reservations.memory', 'mem_reservation: 1g'],
  ['mem_swappiness', leaveOut, 'mem_swappiness: 10'],
  ['memswap_limit', memory, 'memswap_limit: 1g'],
  ['networks.*.driver_opts', leaveOut, 'networks: {n: {driver_opts: {a: b}}}'],
  ['networks.*.gw_priority', leaveOut, 'networks: {n: {gw_priority: 1}}'],
  ['networks.*.interface_name', leaveOut, 'networks: {n: {interface_name: eth1}}'],
  ['networks.*.link_local_ips', leaveOut, 'networks: {n: {link_local_ips: [169.254.1.1]}}'],
  ['networks.*.mac_address', leaveOut, 'networks: {n: {mac_address: 02:42:ac:11:00:02}}'],
  ['networks.*.priority', leaveOut, 'networks: {n: {priority: 1}}'],
  ['oom_score_adj', leaveOut, 'oom_score_adj: 500'],
  ['pids_limit', 'write deploy.resources.limits.pids', 'pids_limit: 100'],
  ['platform', 'write deploy.placement.constraints: [node.platform.arch == x86_64]', 'platform: linux/amd64'],
  ['ports[].app_protocol', leaveOut, 'ports: [{target: 80, app_protocol: http}]'],
  ['ports[].name', leaveOut, 'ports: [{target: 80, name: web}]'],
  ['post_start', 'do it in the image', 'post_start: [{command: a}]'],
  ['pre_start', 'do it in the image', 'pre_start: [{command: a}]'],
  ['pre_stop', 'do it in the image', 'pre_stop: [{command: a}]'],
  ['pull_policy', 'leave it out, images are pinned', 'pull_policy: always'],
  ['pull_refresh_after', 'leave it out, images are pinned', 'pull_refresh_after: 24h'],
  ['runtime', leaveOut, 'runtime: runc'],
  ['storage_opt', leaveOut, 'storage_opt: {size: 1g}'],
  ['uts', leaveOut, 'uts: host'],
  ['volumes_from', 'name a volume in both services', 'volumes_from: [db]'],
];

/** Keys that `docker stack deploy` leaves out, some of them without a word. */
const ignoredKeys: readonly Row[] = [
  ['cgroup_parent', leaveOut, 'cgroup_parent: a'],
  ['container_name', 'reach it by the name of the service', 'container_name: shop'],
  ['devices', leaveOut, 'devices: [/dev/ttyUSB0]'],
  ['domainname', 'write it into hostname', 'domainname: example.com'],
  ['external_links', overlay, 'external_links: [a]'],
  ['ipc', leaveOut, 'ipc: shareable'],
  ['links', overlay, 'links: [db]'],
  ['mac_address', leaveOut, 'mac_address: 02:42:ac:11:00:02'],
  ['network_mode', overlay, 'network_mode: none'],
  ['networks.*.ipv4_address', 'reach it by the name of the service', 'networks: {n: {ipv4_address: 10.9.0.2}}'],
  ['networks.*.ipv6_address', 'reach it by the name of the service', 'networks: {n: {ipv6_address: "fd00::2"}}'],
  ['pid', leaveOut, 'pid: service:db'],
  [
    'security_opt',
    'set "no-new-privileges": true in daemon.json of every node, and leave it out',
    'security_opt: ["no-new-privileges:true"]',
  ],
  ['shm_size', 'mount a tmpfs of that size at /dev/shm', 'shm_size: 64m'],
  ['userns_mode', leaveOut, 'userns_mode: host'],
];

const gapOf =
  (why: string) =>
  ([key, cure, example]: Row) =>
    keyGap({ key, why, cure, example });

/** Keys that are refused unless they say what a swarm does anyhow. */
const valueGaps: readonly KeyGap[] = [
  keyGap(
    {
      ...{ key: 'depends_on.*.condition', why: 'a swarm starts all services at once' },
      ...{
        cure: 'write service_started, and let the service wait',
        example: 'depends_on: {db: {condition: service_healthy}}',
      },
    },
    (text) => text === 'service_started',
  ),
  ...[
    [
      'depends_on.*.restart',
      'a swarm starts all services at once',
      'depends_on: {db: {condition: service_started, restart: true}}',
    ],
    ['oom_kill_disable', 'stack files do not know it', 'oom_kill_disable: true'],
    ['privileged', 'a swarm leaves it out', 'privileged: true'],
    ['use_api_socket', 'stack files do not know it', 'use_api_socket: true'],
  ].map(([key = '', why = '', example = '']) =>
    keyGap({ key, why, cure: leaveOut, example }, (text) => isFalse.test(text)),
  ),
];

/** What a service may not say in a swarm. */
export const serviceGaps: readonly KeyGap[] = [
  ...unknownKeys.map(gapOf('stack files do not know it')),
  ...ignoredKeys.map(gapOf('a swarm leaves it out')),
  ...valueGaps,
  withoutHostIp,
  publishedRange,
  ...mountGaps,
].sort((one, other) => (one.key < other.key ? -1 : 1));
