import { defaultHealthTimeoutS, defaultHttpTimeoutS, defaultIntervalS } from '../../protocol/checkInTimes.ts';
import { defaultLimits } from '../../protocol/defaultLimits.ts';
import { keyTableOf, optional, required, type ConfigKey, type DottedKey } from '../../config/keyTable.ts';
import { policyKeys } from '../../config/policyKeys.ts';
import { timeWindows } from '../../config/timeWindowsType.ts';
import { traceKeys } from '../../config/traceKeys.ts';
import { trustBy } from '../../config/trustType.ts';
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
  textLike,
  loopbackListener,
} from '../../config/valueTypes.ts';
import type { Settings } from './settings.ts';

const secondsPerDay = 86_400;
const bytesPerGiB = 2 ** 30;

/** Every key of config.yaml (spec §6): the one source of the defaults, the validation and the table in docs/config.md. */
export const configKeys: Readonly<Record<DottedKey<Omit<Settings, 'config_file'>>, ConfigKey>> = {
  env: required(envId, 'Environment this host belongs to.'),
  site: required(singleLineName, 'Site this host stands at, as the tenancy service knows it.'),
  transport: required(
    oneOf('sdk', 'proxy', 'system'),
    'How the tenancy service and the secretstore are reached: the mesh from inside the agent, the local mesh proxy, or ordinary networking.',
  ),
  tenancy_url: required(serviceUrl, 'Base address of the tenancy service.'),
  secretstore_url: required(serviceUrl, 'Base address of the secretstore.'),
  port: optional(integer('', 1, 65_535), 443, 'Port of the tenancy service where `tenancy_url` names none.'),
  tenancy_ca: optional(
    nullable(absolutePath),
    null,
    'PEM file of the certificate authority that the tenancy service is trusted by; without it, the system’s.',
  ),
  secretstore_ca: optional(
    absolutePath,
    '/etc/deployd/secretstore-ca.pem',
    'The same for the secretstore; the default file may be missing, one that is named may not.',
  ),
  secretstore_role: optional(singleLineName, 'deploy-agent', 'Role under which the bootstrap grant logs in.'),
  secretstore_namespace: optional(nullable(singleLineName), null, 'Namespace of the secretstore to work in.'),
  'mesh.identity_file': optional(
    absolutePath,
    '/opt/mesh/etc/identities/deployd-host.<env>.json',
    'Mesh identity of this host, read by transport `sdk`.',
  ),
  'mesh.tenancy_service': optional(singleLineName, 'tenancy.deploy', 'Mesh name of the tenancy service.'),
  'mesh.secretstore_service': optional(singleLineName, 'secretstore', 'Mesh name of the secretstore.'),
  laptop_mode: optional(trueOrFalse, false, 'Being offline is normal: such a tick says so in one line and exits 0.'),
  offline_alarm_s: optional(
    nullable(integer('seconds', 1, 365 * secondsPerDay)),
    null,
    'How long the tenancy service may be out of reach before ticks fail (exit 1, so that the unit has failed); without it they never do.',
  ),
  interval_s: optional(
    integer('seconds', 1, secondsPerDay),
    defaultIntervalS,
    'Pause between two ticks of `deployd run`, to which jitter is added.',
  ),
  production: optional(
    trueOrFalse,
    false,
    'This is a production host: no request ever removes its volumes, whoever else says it is not.',
  ),
  volumes_on_absent: optional(
    oneOf('keep', 'purge'),
    'keep',
    'What becomes of data volumes when the backend is taken down; never applied to production.',
  ),
  on_failure: optional(
    oneOf('revert', 'leave'),
    'revert',
    'After a failed apply, bring the previous release back or leave the failed one for diagnosis.',
  ),
  heal: optional(
    trueOrFalse,
    true,
    'Bring the current release up again when the host is not healthy and nothing is to be applied.',
  ),
  heal_unhealthy: optional(
    oneOf('restart', 'report'),
    'restart',
    'What a heal does with a container that has been unhealthy for twice the time that its healthcheck needs to detect it.',
  ),
  drift: optional(
    oneOf('heal', 'report'),
    'heal',
    'What becomes of containers that another tool created or changed: the agent creates them again, or only reports them.',
  ),
  'apply.windows': optional(
    timeWindows,
    [],
    'When one bundle may replace another here; without any at all times. Healing, the first bundle of a host and a retirement do not wait.',
  ),
  'apply.emergency': optional(
    trueOrFalse,
    false,
    'Apply a bundle whose manifest says `agent.emergency` without waiting for a window.',
  ),
  ...policyKeys,
  'trust.bundles': optional(
    trustBy(absolutePath),
    null,
    'Whose signatures a bundle needs to be applied here: a mapping; without it none.',
  ),
  'trust.images': optional(
    trustBy(absolutePath),
    null,
    'Whose signatures every image of a bundle needs in its registry: a mapping; without it none.',
  ),
  keep_releases: optional(integer('releases', 1, 1000), 2, 'Releases kept after a success, the current one included.'),
  settle_s: optional(
    integer('seconds', 0, 3600),
    10,
    'How long a container without a healthcheck must run to count as healthy; less than `health_timeout_s`.',
  ),
  'disk.headroom_bytes': optional(
    integer('bytes', 0),
    2 * bytesPerGiB,
    'Free space that a pull must leave on every filesystem it fills.',
  ),
  'disk.paths': optional(absolutePaths, [], 'Further filesystems to check, each by a path on it.'),
  state_dir: optional(
    absolutePath,
    '/var/lib/deployd',
    'Directory of the token, the state, the lock and the releases.',
  ),
  bootstrap_file: optional(
    absolutePath,
    '/etc/deployd/bootstrap.jwt',
    'Bootstrap grant; wins over the token while it exists.',
  ),
  container_host: optional(socketUrl, 'unix:///run/docker.sock', 'Socket of the container engine.'),
  orchestrator: optional(
    oneOf('compose', 'swarm'),
    'compose',
    'What runs a bundle: compose on this host, or the Docker Swarm that this host is a manager of.',
  ),
  'swarm.node_image': optional(
    nullable(textLike('^[a-zA-Z0-9][^\\s@]*@sha256:[0-9a-f]{64}$', 'an image with its digest, `NAME@sha256:…`')),
    null,
    'Image with `sh` and `docker` in which `down` and `--prune` work on the other nodes of a swarm; without it they leave those alone.',
  ),
  'swarm.node_socket': optional(
    absolutePath,
    '/run/docker.sock',
    'Socket of the container engine on the nodes, which that image gets.',
  ),
  compose: optional(autoOrPath, 'auto', 'Compose v2 program; `auto` takes the engine’s plugin, else `docker-compose`.'),
  connect_timeout_s: optional(
    integer('seconds', 1, 600),
    10,
    'Limit of one connection attempt; at most `http_timeout_s`.',
  ),
  http_timeout_s: optional(integer('seconds', 1, 3600), defaultHttpTimeoutS, 'Limit of one whole call.'),
  download_stall_s: optional(
    integer('seconds', 1, 3600),
    30,
    'How long a bundle download may stand still; at most `download_timeout_s`.',
  ),
  download_timeout_s: optional(integer('seconds', 1, secondsPerDay), 1800, 'Limit of a whole bundle download.'),
  pull_timeout_s: optional(integer('seconds', 1, secondsPerDay), 1800, 'Limit of compose pull.'),
  up_timeout_s: optional(integer('seconds', 1, secondsPerDay), 600, 'Limit of compose up.'),
  down_timeout_s: optional(integer('seconds', 1, secondsPerDay), 600, 'Limit of compose down.'),
  health_timeout_s: optional(
    integer('seconds', 1, secondsPerDay),
    defaultHealthTimeoutS,
    'How long containers may take to become healthy, or longer where their healthchecks and dependencies demand it; longer than `settle_s`.',
  ),
  health_timeout_max_s: optional(
    integer('seconds', 1, secondsPerDay),
    3600,
    'Longest wait for health: a bundle that demands a longer one is refused. At least `health_timeout_s`.',
  ),
  job_timeout_s: optional(
    integer('seconds', 1, secondsPerDay),
    3600,
    'Limit of a job, which is awaited until it has ended.',
  ),
  'limits.bundle_bytes': optional(
    integer('bytes', 1),
    defaultLimits.bundle_bytes,
    'Largest bundle that is downloaded.',
  ),
  'limits.unpacked_bytes': optional(
    integer('bytes', 1),
    defaultLimits.unpacked_bytes,
    'Largest sum of a bundle’s unpacked files.',
  ),
  'limits.bundle_entries': optional(
    integer('entries', 1),
    defaultLimits.bundle_entries,
    'Most files and directories in a bundle.',
  ),
  'metrics.textfile': optional(
    nullable(textLike('^/[^\\p{Cc}]*\\.prom$', 'an absolute path that ends in `.prom`')),
    null,
    'File for the textfile collector of node_exporter, written at the end of each tick; the package has `/run/deployd-metrics` for it.',
  ),
  'metrics.listen': optional(
    nullable(loopbackListener),
    null,
    'Where `deployd run` shows the same metrics, below `/metrics`.',
  ),
  ...traceKeys,
  'log.format': optional(
    oneOf('auto', 'journal', 'json', 'pretty'),
    'auto',
    'Form of the log lines; `auto` is `pretty` on a terminal and `journal` elsewhere.',
  ),
  'log.level': optional(oneOf('error', 'warn', 'info', 'debug'), 'info', 'Least urgent lines that are written.'),
};

/** The keys with their sections. */
export const configTable = keyTableOf(configKeys);

/** Defaults of keys that name places, other than those of the plain configuration. */
export type PlaceDefaults = Partial<Record<keyof typeof configKeys, string>>;
