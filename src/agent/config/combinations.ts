import { isUnencrypted, withoutTrailingSlash } from '../../core/config/valueTypes.ts';
import type { KeyProblem } from '../../core/config/keyTable.ts';
import type { KeyOrder } from '../../core/config/keyValidation.ts';
import { timeZoneProblems, traceProblems, trustProblems } from '../../core/config/sharedKeys.ts';
import { configKeys } from './configKeys.ts';
import type { Settings } from './settings.ts';

/** Keys of which one bounds the other. */
export const keyOrders: readonly KeyOrder[] = [
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

/** Problems of several keys together: unencrypted http outside loopback and mesh, a trust that nobody can meet, a time zone that nobody knows, and two ports for one service. */
export function validateCombinations(valid: Partial<Settings>, hasPort: boolean): KeyProblem[] {
  const unencrypted = (['tenancy_url', 'secretstore_url'] as const).filter(
    (key) => valid.transport === 'system' && isUnencrypted(valid[key]),
  );
  const problems: KeyProblem[] = unencrypted.map((key) => ({
    key,
    message: `must be ${configKeys[key].allowed}; http:// is allowed to loopback and over the transports sdk and proxy`,
  }));
  problems.push(...trustProblems('trust.bundles', valid.trust?.bundles));
  problems.push(...trustProblems('trust.images', valid.trust?.images));
  problems.push(...traceProblems(valid.traces));
  problems.push(...timeZoneProblems('apply.windows', valid.apply?.windows));
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
