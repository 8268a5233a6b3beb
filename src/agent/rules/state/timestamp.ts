/** True for an RFC 3339 time, as far as `Date` parses it. */
export function isTimestamp(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}
