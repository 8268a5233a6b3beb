import { resolve, sep } from 'node:path';
import {
  certificateProblems,
  type ConfigFile,
  deepFreeze,
  inspectCertificateFile,
  readConfigFile,
} from '../../core/config/configFile.ts';
import { ConfigInvalid, type KeyProblem, mergeDefaults } from '../../core/config/keyTable.ts';
import {
  imageTrustProblems,
  isUnencrypted,
  type KeyOrder,
  timeZoneProblems,
  traceProblems,
  trustProblems,
  withoutTrailingSlash,
} from '../../core/config/combinations.ts';
import { realPathOf } from '../../core/files.ts';
import { configTable, type OtherEnv, type Settings } from './configKeys.ts';
import { validate } from './configValidator.ts';
import { configTableOf, namedEnvOf, otherConfigs, scopeOf } from './namedEnvs.ts';

/** Pairs of keys of which one limits the other. */
const keyOrders: readonly KeyOrder[] = [
  {
    ...{ lower: 'settle_s', upper: 'health_timeout_s', isStrict: true },
    reason: 'a container without a healthcheck that must stay up for settle_s would never be healthy in time',
  },
  {
    ...{ lower: 'health_timeout_s', upper: 'health_timeout_max_s' },
    reason: 'health_timeout_max_s limits every wait for health',
  },
  {
    ...{ lower: 'connect_timeout_s', upper: 'http_timeout_s' },
    reason: 'http_timeout_s limits the whole call, with its connection',
  },
  {
    ...{ lower: 'download_stall_s', upper: 'download_timeout_s' },
    reason: 'download_timeout_s limits the whole download, with every stall',
  },
];

/**
 * Problems of combined keys: unencrypted http outside loopback and mesh, a trust that cannot be satisfied, an unknown
 * time zone, and two ports for one service.
 */
export function validateCombinations(valid: Partial<Settings>, hasPort: boolean): KeyProblem[] {
  const unencrypted = (['tenancy_url', 'secretstore_url'] as const).filter(
    (key) => valid.transport === 'system' && isUnencrypted(valid[key]),
  );
  const problems: KeyProblem[] = unencrypted.map((key) => ({
    key,
    message: `must be ${configTable.keys[key].allowed}; http:// is allowed to loopback and over the transports sdk and proxy`,
  }));
  problems.push(...trustProblems('trust.bundles', valid.trust?.bundles));
  problems.push(...imageTrustProblems('trust.images', valid.trust?.images));
  problems.push(...traceProblems(configTable, valid.traces));
  problems.push(...timeZoneProblems('apply.windows', valid.apply?.windows));
  if (valid.orchestrator === 'swarm' && valid.on_withdrawal === 'stop')
    problems.push({ key: 'on_withdrawal', message: 'must be report with orchestrator: swarm' });
  const port = explicitPort(valid.tenancy_url);
  if (!hasPort || port === null || valid.port === undefined || port === valid.port) return problems;
  return [...problems, { key: 'port', message: `must be ${port} as in tenancy_url, or be left out` }];
}

/** Strips trailing slashes of both base addresses and makes `port` and `tenancy_url` name the same port. */
export function normalizeAddresses(settings: Settings): Settings {
  const tenancy = new URL(settings.tenancy_url);
  const port = explicitPort(settings.tenancy_url) ?? settings.port;
  tenancy.port = String(port);
  return {
    ...settings,
    port,
    tenancy_url: withoutTrailingSlash(tenancy.href),
    secretstore_url: withoutTrailingSlash(new URL(settings.secretstore_url).href),
  };
}

/** The port written in the URL, even the scheme's default, which the URL parser drops. */
function explicitPort(url: string | undefined): number | null {
  const digits = url?.match(/^https?:\/\/[^/]*:(\d+)(?:\/|$)/)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Settings that two environments of a host may not share. */
interface Claims {
  readonly file: string;
  readonly env?: string | undefined;
  readonly state_dir?: string | undefined;
  readonly bootstrap_file?: string | undefined;
  readonly textfile?: string | null | undefined;
}

/** The valid settings of a configuration. */
function claimsOf(file: string, { env, state_dir, bootstrap_file, metrics }: Partial<Settings>): Claims {
  return { file, env, state_dir, bootstrap_file, textfile: metrics?.textfile };
}

/**
 * Faults of a named environment's configuration: another environment's name, and values of another configuration of the
 * host (spec §22.3).
 */
function collisionsOf(namedEnv: string, own: Claims, others: readonly Claims[]): KeyProblem[] {
  const problems: KeyProblem[] =
    own.env === undefined || own.env === namedEnv
      ? []
      : [{ key: 'env', message: `must be ${namedEnv}, as the directory of this file and deployd@${namedEnv} say` }];
  return [...problems, ...others.flatMap((other) => sharedBy(own, other))];
}

function sharedBy(own: Claims, { file, ...other }: Claims): KeyProblem[] {
  const isShared = (a: string | null | undefined, b: string | null | undefined) =>
    typeof a === 'string' && typeof b === 'string' && realPathOf(a) === realPathOf(b);
  const shared: [string, boolean][] = [
    ['env', own.env !== undefined && own.env === other.env],
    ['bootstrap_file', isShared(own.bootstrap_file, other.bootstrap_file)],
    ['metrics.textfile', isShared(own.textfile, other.textfile)],
  ];
  const problems = shared.filter(([, is]) => is).map(([key]) => ({ key, message: `is also used by ${file}` }));
  if (!isOverlapping(own.state_dir, other.state_dir)) return problems;
  return [...problems, { key: 'state_dir', message: `must not be, contain or be in the state_dir of ${file}` }];
}

function isOverlapping(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const [one, two] = [realPathOf(a) + sep, realPathOf(b) + sep];
  return one.startsWith(two) || two.startsWith(one);
}

const configFormat = {
  validate,
  example: 'env: eu-1',
  readers: 'it belongs to root and group deployd with mode 0640, so run as root or deployd',
  naming: 'with --config',
  orders: keyOrders,
};

/** Loads config.yaml into frozen Settings; throws ConfigInvalid with all of its problems. */
export function loadSettings(path: string): Settings {
  const { valid, lines, settingsUnless } = readConfig(path);
  const status = inspectCertificateFile(valid.secretstore_ca);
  // Only the default file may be missing.
  const isAbsent = status === 'missing' && !lines.has('/secretstore_ca');
  const settings = settingsUnless([
    ...validateCombinations(valid, lines.has('/port')),
    ...certificateProblems('tenancy_ca', valid.tenancy_ca),
    ...(isAbsent ? [] : certificateProblems('secretstore_ca', valid.secretstore_ca, status)),
    ...collisionProblems(path, valid),
  ]);
  return deepFreeze({
    ...normalizeAddresses(settings),
    ...(isAbsent && { secretstore_ca: null }),
    config_file: resolve(path),
  });
}

/** The valid settings of an invalid configuration, with defaults for all others. */
export function settingsDespite(path: string, { validSettings }: ConfigInvalid): Partial<Settings> {
  return { ...mergeDefaults(configTableOf(path), validSettings), ...validSettings, config_file: path };
}

/** The other environments of the host with this configuration (spec §22). */
export function otherEnvsOf(configFile: string): OtherEnv[] {
  return otherConfigs(configFile).map((file) => {
    const { env = namedEnvOf(file) ?? undefined, state_dir } = validSettings(file);
    return { config_file: file, ...(env !== undefined && { env }), ...(state_dir !== undefined && { state_dir }) };
  });
}

/** The valid settings of a configuration, each key validated separately; empty if it cannot be read. */
function validSettings(path: string): Partial<Settings> {
  try {
    return readConfig(path).valid;
  } catch (error) {
    if (error instanceof ConfigInvalid) return {};
    throw error;
  }
}

function readConfig(path: string): ConfigFile<Settings> {
  const readers =
    scopeOf(path) === 'user' ? 'it is for the user in whose home directory it lies' : configFormat.readers;
  return readConfigFile<Settings>(path, { ...configFormat, readers, table: configTableOf(path) });
}

/** Only a named environment is refused for shared values: the plain one continues, whatever is set up beside it. */
function collisionProblems(path: string, valid: Partial<Settings>): KeyProblem[] {
  const env = namedEnvOf(path);
  if (env === null) return [];
  const others = otherConfigs(path).map((file) => claimsOf(file, validSettings(file)));
  return collisionsOf(env, claimsOf(path, valid), others);
}
