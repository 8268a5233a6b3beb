import { pullIntervalMs } from '../policy/quantities.ts';
import { isFalse } from '../policy/validators.ts';
import type { PolicyFacts } from '../policy/finding.ts';
import { entriesOf, isText, textOf, valueAt, type ComposeNode } from '../document/composeNode.ts';
import { effectiveValue } from '../document/serviceLayers.ts';
import { keyGap, nodesAt, type KeyGap } from './keyGap.ts';

/** A major and a minor version. */
type Version = readonly [major: number, minor: number];

/** Programs of a host that leave a key out without an error. */
interface LeftOutBy {
  /** The first compose with which the key takes effect. */
  compose?: Version | undefined;
  /** The first version of Docker's API with which it does, and the engine that has it. */
  api?: Version | undefined;
  engine?: string;
}

type Row = LeftOutBy & { key: string; cure: string; example: string; isHarmless?: (text: string) => boolean };

/** Keys of a service that older programs accept and leave out, or refuse. The versions of compose are documented or measured. */
const rows: readonly Row[] = [
  {
    ...{ key: 'annotations', compose: [2, 26], api: [1, 43], engine: 'Docker 24' },
    ...{ cure: 'leave it out', example: 'annotations: {run.oci.handler: krun}' },
  },
  {
    ...{ key: 'deploy.resources.reservations.devices[].options', compose: [2, 40], cure: 'leave it out' },
    example: 'deploy: {resources: {reservations: {devices: [{capabilities: [gpu], options: {a: b}}]}}}',
  },
  {
    ...{ key: 'gpus', compose: [2, 30], cure: 'write deploy.resources.reservations.devices' },
    example: 'gpus: [{driver: nvidia, count: 1, capabilities: [gpu]}]',
  },
  {
    ...{ key: 'networks.*.driver_opts', compose: [2, 28], cure: 'leave it out' },
    example: 'networks: {n: {driver_opts: {com.docker.network.endpoint.sysctls: net.ipv4.conf.IFNAME.log_martians=1}}}',
  },
  {
    ...{ key: 'networks.*.gw_priority', compose: [2, 33], api: [1, 48], engine: 'Docker 28' },
    ...{ cure: 'leave it out', example: 'networks: {n: {gw_priority: 1}}', isHarmless: (text) => Number(text) === 0 },
  },
  {
    ...{ key: 'networks.*.interface_name', compose: [2, 36], api: [1, 49], engine: 'Docker 28.1' },
    ...{ cure: 'leave it out', example: 'networks: {n: {interface_name: eth9}}' },
  },
  {
    ...{ key: 'post_start', compose: [2, 30], cure: 'do it in the image' },
    example: 'post_start: [{command: [touch, /started]}]',
  },
  {
    ...{ key: 'pre_stop', compose: [2, 30], cure: 'do it in the image' },
    example: 'pre_stop: [{command: [touch, /stopped]}]',
  },
  {
    ...{ key: 'pull_policy', compose: [2, 34], cure: 'write missing or always', example: 'pull_policy: daily' },
    isHarmless: (text) => pullIntervalMs(text) === null,
  },
  {
    ...{ key: 'pull_refresh_after', compose: [2, 34], cure: 'leave it out', example: 'pull_refresh_after: 24h' },
  },
  {
    ...{ key: 'storage_opt', compose: [2, 26], cure: 'leave it out' },
    example: 'storage_opt: {size: 1g}',
  },
  {
    ...{ key: 'volumes[].bind.recursive', compose: [2, 40], api: [1, 44], engine: 'Docker 25' },
    ...{ cure: 'leave it out', isHarmless: (text) => text === 'enabled' },
    example: 'volumes: [{type: bind, source: ./conf, target: /x, read_only: true, bind: {recursive: disabled}}]',
  },
];

/** What a file may not say besides its services, since it would have no effect there. */
export const composeFileGaps: readonly KeyGap[] = [
  versionGap({
    ...{ key: 'networks.*.enable_ipv4', compose: [2, 33], api: [1, 48], engine: 'Docker 28' },
    ...{ cure: 'leave it out', isHarmless: (text) => !isFalse.test(text) },
    example: 'networks: {a: {enable_ipv4: false, enable_ipv6: true}}',
  }),
  versionGap({
    ...{ key: 'networks.*.ipam.options', compose: [5, 0], cure: 'leave it out' },
    example: 'networks: {a: {ipam: {options: {b: c}}}}',
  }),
];

const examples = { source: 'source: "./conf:x", target: /x', target: 'source: ./conf, target: "/x:y"' };

/** Compose since 2.40, at the latest, cannot start such a mount; a tmpfs it hands over in another form. */
function mountsWithColon(service: ComposeNode, key: 'source' | 'target'): ComposeNode[] {
  const types = key === 'source' ? ['bind'] : ['bind', 'volume'];
  const mounts = nodesAt(service, ['volumes[]']).filter((mount) =>
    types.includes(textOf(valueAt(mount, 'type')) ?? ''),
  );
  const written = mounts.flatMap((mount) => valueAt(mount, key) ?? []);
  return written.filter((node) => (textOf(node) ?? '').replace(/\$\{[^}]*\}/g, '').includes(':'));
}

/** What a service may not say on a host with compose, since it would have no effect there. */
export const composeGaps: readonly KeyGap[] = [
  ...rows.map(versionGap),
  ...[
    ['cpu_count', 'write cpus', 'cpu_count: 2'],
    ['cpu_percent', 'write cpus', 'cpu_percent: 50'],
  ].map(([key = '', cure = '', example = '']) =>
    keyGap({ key, why: 'only Windows has it', cure, example }, (text) => text === '' || text === '0'),
  ),
  ...(['source', 'target'] as const).map((key) => ({
    ...{ key: `volumes[].${key}`, why: 'newer versions of compose write a mount with colons between its parts' },
    ...{ cure: 'choose a path without a colon', example: `volumes: [{type: bind, ${examples[key]}, read_only: true}]` },
    find: (service: ComposeNode, { rendered }: PolicyFacts) =>
      rendered === undefined ? mountsWithColon(service, key) : [],
  })),
  {
    ...{ key: 'mac_address', why: 'compose before 2.40 leaves it out with Docker 25 or newer' },
    ...{ cure: 'write networks: {default: {mac_address: …}}', example: 'mac_address: 02:42:ac:11:00:02' },
    find: (service, { host, engineApi }) => {
      const isLost = isBefore(host.composeVersion, [2, 40]) && !isBefore(host.composeVersion, [2, 21]);
      return isLost && engineApi !== undefined && !isBefore(engineApi, [1, 44])
        ? nodesAt(service, ['mac_address'])
        : [];
    },
  },
  {
    ...{ key: 'deploy.restart_policy.max_attempts', why: 'an engine counts attempts only on failure' },
    ...{ cure: 'write condition: on-failure', example: 'deploy: {restart_policy: {condition: any, max_attempts: 3}}' },
    find: (service, { mergedServices }) => {
      const nodes = nodesAt(service, ['deploy', 'restart_policy', 'max_attempts']);
      return nodes
        .filter((node) => !/^0*$/.test(textOf(node) ?? '0'))
        .filter((node) =>
          (mergedServices.get(service) ?? []).some(({ layers }) => {
            if (effectiveValue(layers, 'deploy', 'restart_policy', 'max_attempts') !== node) return false;
            const condition = textOf(effectiveValue(layers, 'deploy', 'restart_policy', 'condition')) ?? 'any';
            return !condition.includes('$') && !['on-failure', 'none'].includes(condition);
          }),
        );
    },
  },
  {
    ...{ key: 'deploy.placement.max_replicas_per_node', why: 'this host would run more of them' },
    ...{ cure: 'lower deploy.replicas', example: 'deploy: {replicas: 2, placement: {max_replicas_per_node: 1}}' },
    find: (service, { mergedServices }) =>
      nodesAt(service, ['deploy', 'placement', 'max_replicas_per_node']).filter(
        (node) =>
          isText(node) &&
          Number(node.text) > 0 &&
          (mergedServices.get(service) ?? []).some(({ layers }) => {
            const replicas = effectiveValue(layers, 'scale') ?? effectiveValue(layers, 'deploy', 'replicas');
            const most = effectiveValue(layers, 'deploy', 'placement', 'max_replicas_per_node');
            return most === node && Number(textOf(replicas) ?? '1') > Number(node.text);
          }),
      ),
  },
];

function versionGap({ key, cure, example, isHarmless, ...leftOutBy }: Row): KeyGap {
  const { compose, api, engine } = leftOutBy;
  const needed = [...(compose ? [`compose ${compose.join('.')}`] : []), ...(engine ? [engine] : [])].join(' and ');
  const gap = keyGap(
    { key, example, why: `only ${needed} or newer do what it says`, cure: `${cure}, or give the host ${needed}` },
    isHarmless,
  );
  return {
    ...gap,
    find: (owner, facts) => (isLeftOut({ compose, api }, facts) ? gap.find(owner, facts).filter(isNotEmpty) : []),
  };
}

function isLeftOut({ compose, api }: LeftOutBy, { host, engineApi }: PolicyFacts): boolean {
  return (
    (compose !== undefined && isBefore(host.composeVersion, compose)) || (api !== undefined && isBefore(engineApi, api))
  );
}

function isNotEmpty(node: ComposeNode): boolean {
  if (node.kind === 'scalar') return true;
  return node.kind === 'list' ? node.items.length > 0 : entriesOf(node).length > 0;
}

/** False for an unknown version. */
function isBefore(version: Version | null | undefined, [major, minor]: Version): boolean {
  if (version === null || version === undefined) return false;
  return version[0] < major || (version[0] === major && version[1] < minor);
}
