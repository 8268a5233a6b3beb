import { defaultHealthTimeoutS, defaultHttpTimeoutS, defaultIntervalS } from '../../api/checkIn.rules.ts';
import type { ImageTrustSettings, TrustSettings } from '../../api/trust.rules.ts';
import { guard, keyTableOf, optional, required, type SettingsOf } from '../../core/config/keyTable.ts';
import { imageTrustBy, limitKeys, policyKeys, timeWindows, traceKeys, trustBy } from '../../core/config/sharedKeys.ts';
import {
  absolutePath,
  absolutePaths,
  autoOrPath,
  envId,
  integer,
  loopbackListener,
  nullable,
  oneOf,
  serviceUrl,
  singleLineName,
  socketUrl,
  textLike,
  trueOrFalse,
} from '../../core/config/valueTypes.ts';

const secondsPerDay = 86_400;
const bytesPerGiB = 2 ** 30;

/** Every key of config.yaml (spec §6): the one source of the defaults, the validation and the table in docs/config.md. */
export const configTable = keyTableOf({
  env: required(envId, 'Environment of this host.'),
  site: required(singleLineName, 'Site of this host, as in the tenancy service.'),
  transport: required(
    oneOf('sdk', 'proxy', 'system'),
    'Path to the tenancy service and the secretstore. `sdk`: the mesh, from inside the agent; `proxy`: the local mesh proxy; `system`: ordinary networking.',
  ),
  tenancy_url: required(serviceUrl, 'Base address of the tenancy service.'),
  secretstore_url: required(serviceUrl, 'Base address of the secretstore (OpenBao or Vault).'),
  port: optional(integer('', 1, 65_535), 443, 'Port of the tenancy service, if `tenancy_url` contains none.'),
  tenancy_ca: guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate authority of the tenancy service; default: the authorities of the system.',
    ),
  ),
  secretstore_ca: optional(
    absolutePath,
    '/etc/deployd/secretstore-ca.pem',
    'PEM file with the certificate authority of the secretstore. The default file may be missing; a file that you configure must exist.',
  ),
  secretstore_role: optional(singleLineName, 'deploy-agent', 'Role for the login with the bootstrap grant.'),
  secretstore_namespace: optional(nullable(singleLineName), null, 'Namespace of the secretstore.'),
  'mesh.identity_file': optional(
    absolutePath,
    '/opt/mesh/etc/identities/deployd-host.<env>.json',
    'Identity file of this host in the mesh (OpenZiti), for transport `sdk`; with `proxy`, the end of its certificate is watched.',
  ),
  'mesh.tenancy_service': optional(singleLineName, 'tenancy.deploy', 'Mesh name of the tenancy service.'),
  'mesh.secretstore_service': optional(singleLineName, 'secretstore', 'Mesh name of the secretstore.'),
  laptop_mode: optional(trueOrFalse, false, 'Being offline is normal: an offline tick logs one line and exits with 0.'),
  offline_alarm_s: optional(
    nullable(integer('seconds', 1, 365 * secondsPerDay)),
    null,
    'Time without a connection to the tenancy service after which ticks end with exit code 1 and the unit fails; default: never.',
  ),
  interval_s: optional(
    integer('seconds', 1, secondsPerDay),
    defaultIntervalS,
    'Pause between two ticks of `deployd run`, plus jitter.',
  ),
  production: optional(
    trueOrFalse,
    false,
    'Production host: its volumes are never removed, even if a check-in or a manifest requests it.',
  ),
  volumes_on_absent: optional(
    oneOf('keep', 'purge'),
    'keep',
    'Keep or remove data volumes when the backend is taken down; volumes of production hosts are always kept.',
  ),
  on_failure: optional(
    oneOf('revert', 'leave'),
    'revert',
    'After a failed apply, restore the previous release, or leave the failed one for diagnosis.',
  ),
  heal: optional(
    trueOrFalse,
    true,
    'Start the current release again if the host is unhealthy and there is nothing to apply.',
  ),
  heal_unhealthy: optional(
    oneOf('restart', 'report'),
    'restart',
    'Restart or only report a container that has been unhealthy for twice the time that its healthcheck needs to detect it.',
  ),
  drift: optional(
    oneOf('heal', 'report'),
    'heal',
    'Create containers again that another tool has created or changed, or only report them.',
  ),
  on_withdrawal: guard(
    optional(
      oneOf('report', 'stop'),
      'report',
      'Report or stop running services that `policy` or `trust` no longer permit; they are not started again in either case. `stop` is not available with `orchestrator: swarm`.',
    ),
  ),
  'apply.windows': guard(
    optional(
      timeWindows,
      [],
      'Maintenance windows in which a bundle may replace another one; default: at all times. Healing, the first bundle of a host and a retirement do not wait.',
    ),
  ),
  'apply.emergency': optional(
    trueOrFalse,
    false,
    'Apply bundles with `agent.emergency` in their manifest outside the maintenance windows too.',
  ),
  ...policyKeys,
  'trust.bundles': guard(
    optional(
      nullable(trustBy(absolutePath)),
      null,
      'Trusted signers of bundles: a mapping; default: no signatures are required.',
    ),
  ),
  'trust.images': guard(
    optional(
      nullable(imageTrustBy(absolutePath)),
      null,
      'Trusted signers of all images of a bundle, with signatures in their registry: a mapping; `rules` name other signers for the images of a registry or repository. Default: no signatures are required.',
    ),
  ),
  keep_releases: optional(
    integer('releases', 1, 1000),
    2,
    'Number of releases to keep after a success, including the current one.',
  ),
  settle_s: optional(
    integer('seconds', 0, 3600),
    10,
    'Time that a container without a healthcheck must stay up to count as healthy; less than `health_timeout_s`.',
  ),
  'disk.headroom_bytes': optional(
    integer('bytes', 0),
    2 * bytesPerGiB,
    'Space that a pull must leave free on every filesystem that it writes to.',
  ),
  'disk.paths': optional(absolutePaths, [], 'Further filesystems to check, each named by a path on it.'),
  state_dir: optional(
    absolutePath,
    '/var/lib/deployd',
    'Directory of the token, the state, the lock and the releases.',
  ),
  bootstrap_file: optional(
    absolutePath,
    '/etc/deployd/bootstrap.jwt',
    'Bootstrap grant; while the file exists, it is used instead of the token.',
  ),
  container_host: optional(socketUrl, 'unix:///run/docker.sock', 'Socket of the container engine.'),
  orchestrator: optional(
    oneOf('compose', 'swarm'),
    'compose',
    'Run bundles with compose on this host, or in the Docker Swarm that this host manages.',
  ),
  'swarm.node_image': optional(
    nullable(textLike('^[a-zA-Z0-9][^\\s@]*@sha256:[0-9a-f]{64}$', 'an image with its digest, `NAME@sha256:…`')),
    null,
    'Image with `sh` and `docker` that `down` and `--prune` run on the other nodes of a swarm; without it they do not change other nodes.',
  ),
  'swarm.node_socket': optional(
    absolutePath,
    '/run/docker.sock',
    'Socket of the container engine on the nodes, mounted into that image.',
  ),
  compose: optional(autoOrPath, 'auto', 'Compose v2 program; `auto` uses the engine’s plugin, else `docker-compose`.'),
  connect_timeout_s: optional(
    integer('seconds', 1, 600),
    10,
    'Timeout of one connection, shared equally by the addresses of a name; at most `http_timeout_s`.',
  ),
  http_timeout_s: optional(integer('seconds', 1, 3600), defaultHttpTimeoutS, 'Timeout of one whole call.'),
  download_stall_s: optional(
    integer('seconds', 1, 3600),
    30,
    'Longest pause in a bundle download; at most `download_timeout_s`.',
  ),
  download_timeout_s: optional(integer('seconds', 1, secondsPerDay), 1800, 'Timeout of a whole bundle download.'),
  pull_stall_s: optional(
    integer('seconds', 1, 3600),
    120,
    'Longest time without progress in the pull of an image; unpacking does not count.',
  ),
  pull_timeout_s: optional(
    integer('seconds', 1, secondsPerDay),
    14_400,
    'Timeout of pulling all images of a bundle, one after the other.',
  ),
  up_timeout_s: optional(integer('seconds', 1, secondsPerDay), 600, 'Timeout of compose up.'),
  down_timeout_s: optional(integer('seconds', 1, secondsPerDay), 600, 'Timeout of compose down.'),
  health_timeout_s: optional(
    integer('seconds', 1, secondsPerDay),
    defaultHealthTimeoutS,
    'Time for containers to become healthy; more if their healthchecks and dependencies require it. Longer than `settle_s`.',
  ),
  health_timeout_max_s: optional(
    integer('seconds', 1, secondsPerDay),
    3600,
    'Longest wait for health: a bundle that requires more is refused. At least `health_timeout_s`.',
  ),
  job_timeout_s: optional(integer('seconds', 1, secondsPerDay), 3600, 'Time for a job to end.'),
  ...limitKeys,
  'metrics.textfile': optional(
    nullable(textLike('^/[^\\p{Cc}]*\\.prom$', 'an absolute path that ends in `.prom`')),
    null,
    'File for the textfile collector of node_exporter, written at the end of each tick. The package creates `/run/deployd-metrics` for it.',
  ),
  'metrics.listen': optional(
    nullable(loopbackListener),
    null,
    'Address at which `deployd run` serves the same metrics, under `/metrics`.',
  ),
  ...traceKeys,
  'log.format': optional(
    oneOf('auto', 'journal', 'json', 'pretty'),
    'auto',
    'Format of log lines; `auto` is `pretty` on a terminal and `journal` elsewhere.',
  ),
  'log.level': optional(oneOf('error', 'warn', 'info', 'debug'), 'info', 'Lowest level of log lines to write.'),
});

/** The settings of a configuration: its file merged with the defaults. */
export type ConfiguredSettings = SettingsOf<typeof configTable.keys>;

/** The settings of another environment of this host; a key is absent if it is not valid. */
export type OtherEnv = Partial<Pick<Settings, 'env' | 'state_dir'>> & Pick<Settings, 'config_file'>;

/** The validated configuration: config.yaml merged with the defaults, frozen (spec §6). Addresses have no trailing slash. */
export interface Settings extends Omit<ConfiguredSettings, 'secretstore_ca'> {
  /** The file that the settings were read from. */
  readonly config_file: string;
  /** Null when the default file does not exist: the system's roots are used then. */
  readonly secretstore_ca: string | null;
}

/** Which signatures a host requires for images; null if it requires none. */
export interface HostTrust {
  readonly bundles: TrustSettings | null;
  readonly images: ImageTrustSettings | null;
}

/** Which signatures a host requires. */
export type Signed = keyof HostTrust;
