/** True for a base address of a service. Whether `http:` is allowed depends on the transport: see combinations.ts. */
export function isServiceUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@\\\s]+(\/[^?#@\\\s]*)?$/.test(text) && URL.canParse(text);
}

/** True for an RFC 3339 time, as far as `Date` parses it. */
export function isTimestamp(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}

/** The formats of texts that schemas name. Compiled validators import them from here. */
export const formats = { 'service-url': isServiceUrl, time: isTimestamp };
