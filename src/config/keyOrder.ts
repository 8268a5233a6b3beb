import type { KeyProblem } from './configInvalid.ts';

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
 * Values with defaults that fit the keys that are given: the default of a lower key is at most the upper one, and that of an upper
 * key at least the lower one; half or twice of it where they must differ.
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

/** Keys that contradict each other: a problem for one that is given, with what the other allows and why. */
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
