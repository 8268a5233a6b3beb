import {
  autoOrPath,
  envId,
  name,
  oneOf,
  orNothing,
  path,
  paths,
  socket,
  url,
  whole,
  yesNo,
  type Kind,
} from './kinds.ts';
import type { Settings } from './settings.ts';

/** Every setting as a dotted key; a section is one level deep. */
export type SettingKey = {
  [K in keyof Settings]: Settings[K] extends readonly unknown[]
    ? K
    : Settings[K] extends object
      ? `${K}.${keyof Settings[K] & string}`
      : K;
}[keyof Settings];

/** What there is to know about one key; without `default` it is required. */
export interface Key extends Kind {
  default?: unknown;
  /** One sentence for the operator. */
  meaning: string;
}

const day = 86_400;
const gib = 2 ** 30;

/** Every key of config.yaml (spec §6): the defaults, the check and the table in docs/config.md all come from here. */
export const keys: Readonly<Record<SettingKey, Key>> = {
  env: { ...envId, meaning: 'Environment this host belongs to.' },
  site: { ...name, meaning: 'Site this host stands at, as the tenancy service knows it.' },
  transport: {
    ...oneOf('sdk', 'proxy', 'system'),
    meaning:
      'How the tenancy service and the secretstore are reached: the mesh from inside the agent, the local mesh proxy, or ordinary networking.',
  },
  tenancy_url: { ...url, meaning: 'Base address of the tenancy service.' },
  secretstore_url: { ...url, meaning: 'Base address of the secretstore.' },
  port: {
    ...whole('', 1, 65_535),
    default: 443,
    meaning: 'Port of the tenancy service where `tenancy_url` names none.',
  },
  tenancy_ca: {
    ...orNothing(path),
    default: null,
    meaning: 'PEM file of the certificate authority that the tenancy service is trusted by; without it, the system’s.',
  },
  secretstore_ca: {
    ...path,
    default: '/etc/deployd/secretstore-ca.pem',
    meaning: 'The same for the secretstore; the default file may be missing, one that is named may not.',
  },
  secretstore_role: { ...name, default: 'deploy-agent', meaning: 'Role under which the bootstrap grant logs in.' },
  secretstore_namespace: { ...orNothing(name), default: null, meaning: 'Namespace of the secretstore to work in.' },
  'mesh.identity_file': {
    ...path,
    default: '/opt/mesh/etc/identities/deployd-host.<env>.json',
    meaning: 'Mesh identity of this host, read by transport `sdk`.',
  },
  'mesh.tenancy_service': { ...name, default: 'tenancy.deploy', meaning: 'Mesh name of the tenancy service.' },
  'mesh.secretstore_service': { ...name, default: 'secretstore', meaning: 'Mesh name of the secretstore.' },
  laptop_mode: {
    ...yesNo,
    default: false,
    meaning: 'Being offline is normal: such a tick says so in one line and exits 0.',
  },
  interval_s: {
    ...whole('seconds', 1, day),
    default: 60,
    meaning: 'Pause between two ticks of `deployd run`, to which jitter is added.',
  },
  production: {
    ...yesNo,
    default: false,
    meaning: 'This is a production host: no request ever removes its volumes, whoever else says it is not.',
  },
  volumes_on_absent: {
    ...oneOf('keep', 'purge'),
    default: 'keep',
    meaning: 'What becomes of data volumes when the backend is taken down; never applied to production.',
  },
  on_failure: {
    ...oneOf('revert', 'leave'),
    default: 'revert',
    meaning: 'After a failed apply, bring the previous release back or leave the failed one for diagnosis.',
  },
  heal: {
    ...yesNo,
    default: true,
    meaning: 'Bring the current release up again when the host is not healthy and nothing is to be applied.',
  },
  keep_releases: {
    ...whole('releases', 1, 1000),
    default: 2,
    meaning: 'Releases kept after a success, the current one included.',
  },
  settle_s: {
    ...whole('seconds', 0, 3600),
    default: 10,
    meaning: 'How long a container without a healthcheck must run to count as healthy.',
  },
  'disk.headroom_bytes': {
    ...whole('bytes', 0),
    default: 2 * gib,
    meaning: 'Free space that a pull must leave on every filesystem it fills.',
  },
  'disk.paths': { ...paths, default: [], meaning: 'Further filesystems to check, each by a path on it.' },
  state_dir: {
    ...path,
    default: '/var/lib/deployd',
    meaning: 'Directory of the token, the state, the lock and the releases.',
  },
  bootstrap_file: {
    ...path,
    default: '/etc/deployd/bootstrap.jwt',
    meaning: 'Bootstrap grant; wins over the token while it exists.',
  },
  container_host: { ...socket, default: 'unix:///run/docker.sock', meaning: 'Socket of the container engine.' },
  compose: {
    ...autoOrPath,
    default: 'auto',
    meaning: 'Compose v2 program; `auto` takes the engine’s plugin, else `docker-compose`.',
  },
  connect_timeout_s: { ...whole('seconds', 1, 600), default: 10, meaning: 'Limit of one connection attempt.' },
  http_timeout_s: { ...whole('seconds', 1, 3600), default: 30, meaning: 'Limit of one whole call.' },
  download_stall_s: {
    ...whole('seconds', 1, 3600),
    default: 30,
    meaning: 'How long a bundle download may stand still.',
  },
  download_timeout_s: { ...whole('seconds', 1, day), default: 1800, meaning: 'Limit of a whole bundle download.' },
  pull_timeout_s: { ...whole('seconds', 1, day), default: 1800, meaning: 'Limit of compose pull.' },
  up_timeout_s: { ...whole('seconds', 1, day), default: 300, meaning: 'Limit of compose up.' },
  down_timeout_s: { ...whole('seconds', 1, day), default: 300, meaning: 'Limit of compose down.' },
  health_timeout_s: {
    ...whole('seconds', 1, day),
    default: 300,
    meaning: 'How long containers may take to become healthy.',
  },
  'limits.bundle_bytes': { ...whole('bytes', 1), default: gib / 4, meaning: 'Largest bundle that is downloaded.' },
  'limits.unpacked_bytes': { ...whole('bytes', 1), default: gib, meaning: 'Largest sum of a bundle’s unpacked files.' },
  'limits.bundle_entries': {
    ...whole('entries', 1),
    default: 10_000,
    meaning: 'Most files and directories in a bundle.',
  },
  'log.format': {
    ...oneOf('auto', 'journal', 'json', 'pretty'),
    default: 'auto',
    meaning: 'Form of the log lines; `auto` is `pretty` on a terminal and `journal` elsewhere.',
  },
  'log.level': {
    ...oneOf('error', 'warn', 'info', 'debug'),
    default: 'info',
    meaning: 'Least urgent lines that are written.',
  },
};

/** All dotted keys, in the order in which the documentation lists them. */
export const keyNames = Object.keys(keys) as [SettingKey, ...SettingKey[]];

/** Names of the sections, such as `disk`. */
export const sections = [...new Set(keyNames.filter((key) => key.includes('.')).map((key) => sectionOf(key)))];

/** The section of a dotted key, empty for a key at the top. */
export function sectionOf(key: string): string {
  return key.includes('.') ? key.slice(0, key.indexOf('.')) : '';
}

/** The last part of a dotted key. */
export function leafOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1);
}
