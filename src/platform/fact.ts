/** A fact of the host, or the reason why it is not known. */
export type Fact<T> = { known: T } | { unknown: string };
