import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, entriesOf, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { isReadOnlyMount } from '../compose/mounts.rules.ts';
import { locatePath, type PathLocation } from './bundlePaths.rules.ts';
import { gapFindings, type KeyGap, keyGap, nodesAt } from './effect.rules.ts';
import { type Finding, type PolicyFacts, refuseWithoutValue, type ValueLocation } from './finding.rules.ts';
import { isFalse } from './validators.rules.ts';

/** A port of which the address or the range matters: the parts of its short or long form. */
function publishedAt(port: ComposeNode): { hasAddress: boolean; published: string; target: string } {
  if (port.kind === 'map') {
    const at = (key: string) => textOf(valueAt(port, key)) ?? '';
    return { hasAddress: at('host_ip') !== '', published: at('published'), target: at('target') };
  }
  const written = (textOf(port) ?? '').replace(/\$\{[^}]*\}/g, '$').replace(/\/\w*$/, '');
  const [target = '', published = '', ...address] = written.split(':').toReversed();
  return { hasAddress: address.length > 0, published, target };
}

const portGap =
  (isRefused: (port: ReturnType<typeof publishedAt>) => boolean): KeyGap['find'] =>
  (service) =>
    nodesAt(service, ['ports[]']).filter((port) => isRefused(publishedAt(port)));

/** A port that one address of the host would have. */
const withoutHostIp: KeyGap = {
  key: 'ports[].host_ip',
  why: 'a swarm publishes on every address of its nodes',
  cure: 'leave the address out, or let a firewall keep others away',
  example: 'ports: ["127.0.0.1:80:80"]',
  find: portGap(({ hasAddress }) => hasAddress),
};

/** A range out of which compose would take one port. */
const publishedRange: KeyGap = {
  key: 'ports[].published',
  why: 'a swarm publishes one port, not one of a range',
  cure: 'write one port',
  example: 'ports: ["8000-8010:80"]',
  find: portGap(({ published, target }) => published.includes('-') && !target.includes('-')),
};

/** Mounts of the bundle whose place in it fulfils a condition. */
const bundleMounts =
  (isRefused: (place: PathLocation, mount: ComposeNode) => boolean): KeyGap['find'] =>
  (service, facts) =>
    nodesAt(service, ['volumes[]']).filter((mount) => {
      const place = placeOf(mount, facts);
      return place !== null && isRefused(place, mount);
    });

/** Where a bind mount's source is; null for any other mount. */
function placeOf(mount: ComposeNode, facts: PolicyFacts): PathLocation | null {
  if (mount.kind === 'map')
    return textOf(valueAt(mount, 'type')) === 'bind' ? locatePath(textOf(valueAt(mount, 'source')) ?? '', facts) : null;
  const [source = ''] = (textOf(mount) ?? '').split(':');
  return /^[./~]/.test(source) ? locatePath(source, facts) : null;
}

const leaveOut = 'leave it out';

/** Mounts that a swarm does not support. */
const mountGaps: readonly KeyGap[] = [
  {
    key: 'volumes[].source',
    why: 'other nodes do not have the directories of the bundle',
    cure: 'mount each file of it that is needed',
    example: 'volumes: ["./conf:/etc/app:ro"]',
    find: bundleMounts(({ kind }) => kind === 'directory'),
  },
  {
    key: 'volumes[].read_only',
    why: 'a file of the bundle is the same on every node, so no service may write to it',
    cure: 'mount it with :ro',
    example: 'volumes: ["./conf/web.conf:/etc/web.conf"]',
    find: bundleMounts(({ kind }, mount) => kind === 'file' && !isReadOnlyMount(mount)),
  },
  keyGap({
    key: 'volumes[].volume.subpath',
    why: 'a node with an older engine would mount the whole volume',
    cure: 'give the service its own volume',
    example: 'volumes: [{type: volume, source: data, target: /x, volume: {subpath: a}}]',
  }),
  {
    key: 'tmpfs',
    why: 'a swarm leaves its options out',
    cure: 'write it under volumes, with type: tmpfs and tmpfs: {size: 64m}',
    example: 'tmpfs: ["/run:size=64m"]',
    find: (service) => [...nodesAt(service, ['tmpfs[]']).filter((mount) => textOf(mount)?.includes(':') === true)],
  },
  ...[
    ['volumes[].bind.recursive', 'volumes: [{type: bind, source: /a, target: /x, bind: {recursive: enabled}}]'],
    ['volumes[].bind.selinux', 'volumes: [{type: bind, source: /a, target: /x, bind: {selinux: z}}]'],
    ['volumes[].tmpfs.mode', 'volumes: [{type: tmpfs, target: /x, tmpfs: {mode: 0700}}]'],
    ['volumes[].volume.labels', 'volumes: [{type: volume, target: /x, volume: {labels: {a: b}}}]'],
  ].map(([key = '', example = '']) => keyGap({ key, why: 'a swarm leaves it out', cure: leaveOut, example })),
];

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

/** Keys of a service that a swarm does not support. */
export const serviceGaps: readonly KeyGap[] = [
  ...unknownKeys.map(gapOf('stack files do not know it')),
  ...ignoredKeys.map(gapOf('a swarm leaves it out')),
  ...valueGaps,
  withoutHostIp,
  publishedRange,
  ...mountGaps,
].sort((one, other) => (one.key < other.key ? -1 : 1));

const unknown = 'stack files do not know it';
const labels = 'the agent chooses names and labels of configs and secrets in a swarm';

/** The options of a network that hold for one of several nodes too. */
const overlayOption = /^com\.docker\.network\.driver\.mtu$/;

/** Keys of a file, outside its services, that a swarm does not support. */
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

/** Bytes that a swarm keeps of a config and of a secret. */
export const maxConfigBytes = 1_024_000 - 1;
export const maxSecretBytes = 512_000 - 1;

/**
 * Data that a swarm cannot store for its nodes, because it is empty or too large: files of the bundle, and texts of
 * configs.
 */
function keptFileFindings(root: ComposeNode, location: ValueLocation): Finding[] {
  const mounted = nodesAt(root, ['services', '*', 'volumes[]']).flatMap(bindSource);
  const named = (section: string) => nodesAt(root, [section, '*', 'file']);
  return [
    ...[...mounted, ...named('configs')].flatMap((source) => sizeFindings(source, maxConfigBytes, location)),
    ...named('secrets').flatMap((source) => sizeFindings(source, maxSecretBytes, location)),
    ...nodesAt(root, ['configs', '*', 'content']).flatMap((content) => textFindings(content, location)),
  ];
}

function textFindings(content: ComposeNode, location: ValueLocation): Finding[] {
  const problem = { message: 'is empty, which a swarm does not keep', cure: 'write something into it' };
  return textOf(content) === ''
    ? refuseWithoutValue(content, { ...location, keyPath: 'configs.*.content' }, problem)
    : [];
}

function bindSource(mount: ComposeNode): ComposeNode[] {
  if (mount.kind === 'map') return [valueAt(mount, 'source')].filter((source) => source !== undefined);
  const [source = ''] = (textOf(mount) ?? '').split(':');
  return mount.kind === 'scalar' && source.startsWith('.') ? [{ ...mount, text: source }] : [];
}

function sizeFindings(source: ComposeNode, most: number, location: ValueLocation): Finding[] {
  const { facts } = location;
  const place = locatePath(textOf(source) ?? '', facts);
  const size = place.kind === 'file' ? facts.fileSizes?.get(place.path) : undefined;
  if (size === undefined || (size > 0 && size <= most)) return [];
  const fault = size === 0 ? 'is empty' : `has more than ${most} bytes`;
  return refuseWithoutValue(
    source,
    { ...location, keyPath: 'a file of the bundle' },
    {
      message: `${fault}, which a swarm does not keep`,
      cure: size === 0 ? 'write something into it' : 'put it into an image',
    },
  );
}

/** Characters of a name in DNS, by which the tasks of a service are reached. */
const maxServiceName = 63;

const where = ' in a swarm';

/** The parts of a compose file, or compose's rendered model, that a swarm cannot do; no flag lifts it. */
export function swarmFindings(root: ComposeNode, location: ValueLocation): Finding[] {
  const services = entriesOf(valueAt(root, 'services')).map(([name, service]) => ({
    service,
    name,
    at: { ...location, owner: `service ${printable(name)}` },
  }));
  return [
    ...services.flatMap(({ service, at }) => gapFindings(service, { gaps: serviceGaps, where }, at)),
    ...services.flatMap(({ service, name, at }) => nameFindings(name, service, at)),
    ...gapFindings(root, { gaps: fileGaps, where }, location),
    ...keptFileFindings(root, location),
  ];
}

function nameFindings(name: string, service: ComposeNode, location: ValueLocation): Finding[] {
  if (`${location.facts.projectName}_${name}`.length <= maxServiceName) return [];
  const message = `is refused in a swarm: after the project's and "_" it ends beyond ${maxServiceName} characters`;
  return refuseWithoutValue(service, { ...location, keyPath: 'its name' }, { message, cure: 'give it a shorter one' });
}
