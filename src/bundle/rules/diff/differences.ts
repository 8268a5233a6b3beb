/** A value by its key; a set holds the items of a list of which compose ignores the order. */
export type Values = ReadonlyMap<string, string | ReadonlySet<string>>;

/** A key whose value differs; null on the side that lacks it. An item of a list stands for itself. */
export interface Difference {
  key: string;
  before: string | null;
  after: string | null;
}

/** Stands for a value that is not told. */
export const hiddenValue = '(not shown)';

/** The keys whose values differ, in the order of `before`, then of `after`. */
export function differencesOf(before: Values, after: Values): Difference[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key): Difference[] => {
    const [one, other] = [before.get(key) ?? new Set<string>(), after.get(key) ?? new Set<string>()];
    if (typeof one === 'string' && typeof other === 'string') {
      return one === other ? [] : [{ key, before: one, after: other }];
    }
    const [left, right] = [asSet(one), asSet(other)];
    return [
      ...[...left].filter((item) => !right.has(item)).map((item) => ({ key, before: item, after: null })),
      ...[...right].filter((item) => !left.has(item)).map((item) => ({ key, before: null, after: item })),
    ];
  });
}

/** A value as the set of its items: a text is one item. */
export function asSet(value: string | ReadonlySet<string>): ReadonlySet<string> {
  return typeof value === 'string' ? new Set([value]) : value;
}
