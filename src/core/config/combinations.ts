import { isTimeZone, type TimeWindow } from '../../api/timeWindow.rules.ts';
import type { ImageTrustSettings, TrustSettings } from '../../api/trust.rules.ts';
import { isLoopback } from '../http.rules.ts';
import type { KeyProblem, KeyTable } from './keyTable.ts';

/** Two keys of which one must not be larger than the other. */
export interface KeyOrder {
  lower: string;
  upper: string;
  /** True where they must not be equal either. */
  isStrict?: boolean;
  /** The default of the lower key does not become less than this. */
  least?: number;
  /** Why, as the end of a sentence. */
  reason: string;
}

type Values = Readonly<Record<string, unknown>>;

/** Whether the file itself has a key. */
type IsGiven = (key: string) => boolean;

/**
 * Values with defaults that fit the given keys. The default of a lower key is at most the upper key; the default of an
 * upper key is at least the lower key. If they must differ, half or twice of it is used.
 */
export function orderDefaults(
  orders: readonly KeyOrder[],
  values: Record<string, unknown>,
  isGiven: IsGiven,
): Record<string, unknown> {
  return orders.reduce((merged, { lower, upper, isStrict = false, least = 0 }) => {
    const [low, high] = [valueOf(merged, lower), valueOf(merged, upper)];
    if (low === null || high === null || !isWrong(low, high, isStrict)) return merged;
    if (!isGiven(lower)) return withValue(merged, lower, Math.max(least, isStrict ? Math.floor(high / 2) : high));
    return isGiven(upper) ? merged : withValue(merged, upper, isStrict ? 2 * low : low);
  }, values);
}

/** Contradicting keys: a problem for a given key, with the allowed values and the reason. */
export function orderProblems(orders: readonly KeyOrder[], values: Values, isGiven: IsGiven): KeyProblem[] {
  return orders.flatMap(({ lower, upper, isStrict = false, reason }) => {
    const [low, high] = [valueOf(values, lower), valueOf(values, upper)];
    if (low === null || high === null || !isWrong(low, high, isStrict)) return [];
    if (isGiven(lower))
      return [{ key: lower, message: `must be ${isStrict ? 'less than' : 'at most'} ${upper} (${high}): ${reason}` }];
    return [{ key: upper, message: `must be ${isStrict ? 'more than' : 'at least'} ${lower} (${low}): ${reason}` }];
  });
}

function isWrong(low: number, high: number, isStrict: boolean): boolean {
  return isStrict ? low >= high : low > high;
}

/** The number of a key; null for anything else, and for a section that has no keys. */
function valueOf(values: Values, key: string): number | null {
  const [section = '', leaf] = key.split('.');
  const value = leaf === undefined ? values[section] : (values[section] as Values | undefined)?.[leaf];
  return typeof value === 'number' ? value : null;
}

function withValue(values: Record<string, unknown>, key: string, value: number): Record<string, unknown> {
  const [section = '', leaf] = key.split('.');
  if (leaf === undefined) return { ...values, [section]: value };
  return { ...values, [section]: { ...(values[section] as Values), [leaf]: value } };
}

/** The time zones of windows that this system does not know. */
export function timeZoneProblems(key: string, list: readonly TimeWindow[] = []): KeyProblem[] {
  const unknown = list.filter(({ time_zone }) => !isTimeZone(time_zone));
  return unknown.map(({ time_zone }) => ({ key, message: `must have known time zones: there is no ${time_zone}` }));
}

/** Traces are sent without encryption to this host only, whatever the transport of other calls. */
export function traceProblems(
  { keys }: KeyTable,
  traces: { readonly otlp_endpoint: string | null } | undefined,
): KeyProblem[] {
  const key = 'traces.otlp_endpoint';
  if (!isUnencrypted(traces?.otlp_endpoint)) return [];
  return [{ key, message: `must be ${keys[key]?.allowed}; http:// is allowed to loopback` }];
}

/** Contradictions in a trust: no signers or too few, and identities that nothing can verify. */
export function trustProblems(key: string, settings: TrustSettings | null | undefined): KeyProblem[] {
  return settings ? contradictionsIn(settings).map((message) => ({ key, message: `must ${message}` })) : [];
}

/** The same of images, with the rules for repositories. */
export function imageTrustProblems(key: string, settings: ImageTrustSettings | null | undefined): KeyProblem[] {
  const { rules = [], keys = [], identities = [] } = settings ?? {};
  const own = rules.length > 0 && keys.length + identities.length === 0 ? [] : trustProblems(key, settings);
  const repositories = rules.map(({ repository }) => repository);
  const twice = repositories.filter((repository, index) => repositories.indexOf(repository) < index);
  return [
    ...own,
    ...rules.flatMap((rule) =>
      contradictionsIn(rule).map((message) => ({ key, message: `must ${message} in the rule for ${rule.repository}` })),
    ),
    ...twice.map((repository) => ({ key, message: `must have one rule for ${repository}` })),
  ];
}

function contradictionsIn({ threshold = 1, keys = [], identities = [], root }: TrustSettings): string[] {
  const signers = keys.length + identities.length;
  return [
    ...(signers === 0 ? ['name keys or identities, or be left out'] : []),
    ...(signers > 0 && threshold > signers
      ? [`have a threshold that can be met: it is ${threshold}, and ${signers} can sign`]
      : []),
    ...(identities.length > 0 && root === undefined
      ? ['name the trust root (root) by which its identities are verified']
      : []),
  ];
}

/** True for an address whose connections are neither encrypted nor stay on this host. */
export function isUnencrypted(url: string | null | undefined): boolean {
  return Boolean(url?.startsWith('http://')) && !isLoopback(new URL(url ?? '').hostname);
}

/** A base address without trailing slashes. */
export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
