/** Ignores errors of a stream, so that a closed reader or a full disk does not end the process (spec §14). */
export function ignoreStreamErrors<T extends NodeJS.WritableStream>(stream: T): T {
  return stream.on('error', () => undefined);
}
