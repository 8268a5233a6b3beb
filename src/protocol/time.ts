/** Whether a text is an RFC 3339 time, or near enough to be one for `Date`. */
export function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}
