import {
  autoOrPath,
  envId,
  singleLineName,
  oneOf,
  nullable,
  absolutePath,
  absolutePaths,
  socketUrl,
  serviceUrl,
  integer,
  trueOrFalse,
  type ValueType,
} from './valueTypes.ts';
import type { Settings } from './settings.ts';

/** Every setting as a dotted key; a section is one level deep. */
export type SettingKey = {
  [K in keyof Settings]: Settings[K] extends readonly unknown[]
    ? K
    : Settings[K] extends object
      ? `${K}.${keyof Settings[K] & string}`
      : K;
}[keyof Settings];

/** Definition of one key; a key without `default` is required. */
export interface ConfigKey extends ValueType {
  default?: unknown;
  /** One sentence for the operator. */
  description: string;
}

const secondsPerDay = 86_400;
const bytesPerGiB = 2 ** 30;

/** Every key of config.yaml (spec §6): the one source of the defaults, the validation and the table in docs/config.md. */
export const configKeys: Readonly<Record<SettingKey, ConfigKey>> = {
  env: { ...envId, description: 'Environment this host belongs to.' },
  site: { ...singleLineName, description: 'Site this host stands at, as the tenancy service knows it.' },
  transport: {
    ...oneOf('sdk', 'proxy', 'system'),
    description:
      'How the tenancy service and the secretstore are reached: the mesh from inside the agent, the local mesh proxy, or ordinary networking.',
  },
  tenancy_url: { ...serviceUrl, description: 'Base address of the tenancy service.' },
  secretstore_url: { ...serviceUrl, description: 'Base address of the secretstore.' },
  port: {
    ...integer('', 1, 65_535),
    default: 443,
    description: 'Port of the tenancy service where `tenancy_url` names none.',
  },
  tenancy_ca: {
    ...nullable(absolutePath),
    default: null,
    description:
      'PEM file of the certificate authority that the tenancy service is trusted by; without it, the system’s.',
  },
  secretstore_ca: {
    ...absolutePath,
    default: '/etc/deployd/secretstore-ca.pem',
    description: 'The same for the secretstore; the default file may be missing, one that is named may not.',
  },
  secretstore_role: {
    ...singleLineName,
    default: 'deploy-agent',
    description: 'Role under which the bootstrap grant logs in.',
  },
  secretstore_namespace: {
    ...nullable(singleLineName),
    default: null,
    description: 'Namespace of the secretstore to work in.',
  },
  'mesh.identity_file': {
    ...absolutePath,
    default: '/opt/mesh/etc/identities/deployd-host.<env>.json',
    description: 'Mesh identity of this host, read by transport `sdk`.',
  },
  'mesh.tenancy_service': {
    ...singleLineName,
    default: 'tenancy.deploy',
    description: 'Mesh name of the tenancy service.',
  },
  'mesh.secretstore_service': {
    ...singleLineName,
    default: 'secretstore',
    description: 'Mesh name of the secretstore.',
  },
  laptop_mode: {
    ...trueOrFalse,
    default: false,
    description: 'Being offline is normal: such a tick says so in one line and exits 0.',
  },
  interval_s: {
    ...integer('seconds', 1, secondsPerDay),
    default: 60,
    description: 'Pause between two ticks of `deployd run`, to which jitter is added.',
  },
  production: {
    ...trueOrFalse,
    default: false,
    description: 'This is a production host: no request ever removes its volumes, whoever else says it is not.',
  },
  volumes_on_absent: {
    ...oneOf('keep', 'purge'),
    default: 'keep',
    description: 'What becomes of data volumes when the backend is taken down; never applied to production.',
  },
  on_failure: {
    ...oneOf('revert', 'leave'),
    default: 'revert',
    description: 'After a failed apply, bring the previous release back or leave the failed one for diagnosis.',
  },
  heal: {
    ...trueOrFalse,
    default: true,
    description: 'Bring the current release up again when the host is not healthy and nothing is to be applied.',
  },
  keep_releases: {
    ...integer('releases', 1, 1000),
    default: 2,
    description: 'Releases kept after a success, the current one included.',
  },
  settle_s: {
    ...integer('seconds', 0, 3600),
    default: 10,
    description: 'How long a container without a healthcheck must run to count as healthy.',
  },
  'disk.headroom_bytes': {
    ...integer('bytes', 0),
    default: 2 * bytesPerGiB,
    description: 'Free space that a pull must leave on every filesystem it fills.',
  },
  'disk.paths': { ...absolutePaths, default: [], description: 'Further filesystems to check, each by a path on it.' },
  state_dir: {
    ...absolutePath,
    default: '/var/lib/deployd',
    description: 'Directory of the token, the state, the lock and the releases.',
  },
  bootstrap_file: {
    ...absolutePath,
    default: '/etc/deployd/bootstrap.jwt',
    description: 'Bootstrap grant; wins over the token while it exists.',
  },
  container_host: { ...socketUrl, default: 'unix:///run/docker.sock', description: 'Socket of the container engine.' },
  compose: {
    ...autoOrPath,
    default: 'auto',
    description: 'Compose v2 program; `auto` takes the engine’s plugin, else `docker-compose`.',
  },
  connect_timeout_s: { ...integer('seconds', 1, 600), default: 10, description: 'Limit of one connection attempt.' },
  http_timeout_s: { ...integer('seconds', 1, 3600), default: 30, description: 'Limit of one whole call.' },
  download_stall_s: {
    ...integer('seconds', 1, 3600),
    default: 30,
    description: 'How long a bundle download may stand still.',
  },
  download_timeout_s: {
    ...integer('seconds', 1, secondsPerDay),
    default: 1800,
    description: 'Limit of a whole bundle download.',
  },
  pull_timeout_s: { ...integer('seconds', 1, secondsPerDay), default: 1800, description: 'Limit of compose pull.' },
  up_timeout_s: { ...integer('seconds', 1, secondsPerDay), default: 300, description: 'Limit of compose up.' },
  down_timeout_s: { ...integer('seconds', 1, secondsPerDay), default: 300, description: 'Limit of compose down.' },
  health_timeout_s: {
    ...integer('seconds', 1, secondsPerDay),
    default: 300,
    description: 'How long containers may take to become healthy.',
  },
  'limits.bundle_bytes': {
    ...integer('bytes', 1),
    default: bytesPerGiB / 4,
    description: 'Largest bundle that is downloaded.',
  },
  'limits.unpacked_bytes': {
    ...integer('bytes', 1),
    default: bytesPerGiB,
    description: 'Largest sum of a bundle’s unpacked files.',
  },
  'limits.bundle_entries': {
    ...integer('entries', 1),
    default: 10_000,
    description: 'Most files and directories in a bundle.',
  },
  'log.format': {
    ...oneOf('auto', 'journal', 'json', 'pretty'),
    default: 'auto',
    description: 'Form of the log lines; `auto` is `pretty` on a terminal and `journal` elsewhere.',
  },
  'log.level': {
    ...oneOf('error', 'warn', 'info', 'debug'),
    default: 'info',
    description: 'Least urgent lines that are written.',
  },
};

/** All dotted keys, in the order in which the documentation lists them. */
export const configKeyNames = Object.keys(configKeys) as [SettingKey, ...SettingKey[]];

/** Names of the sections, such as `disk`. */
export const configSections = [
  ...new Set(configKeyNames.filter((key) => key.includes('.')).map((key) => sectionOf(key))),
];

/** The section of a dotted key, empty for a top-level key. */
export function sectionOf(key: string): string {
  return key.includes('.') ? key.slice(0, key.indexOf('.')) : '';
}

/** The last part of a dotted key. */
export function leafOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1);
}
