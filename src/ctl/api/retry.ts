/** Milliseconds until a failed call is tried again, null when it is not; `random` is in [0, 1). */
export function retryDelayMs(retryAfterS: number | null, tries: number, random: number): number | null {
  if (tries >= maxTries) return null;
  if (retryAfterS !== null && retryAfterS > maxRetryAfterS) return null;
  // many pipelines may have got the same Retry-After
  return (retryAfterS ?? 0) * 1000 * (1 + random / 2) + firstDelayMs * 2 ** (tries - 1) * (0.5 + random);
}

const maxTries = 4;
/** Seconds; a service that asks for more is told of instead of waited for. */
const maxRetryAfterS = 30;
const firstDelayMs = 250;
