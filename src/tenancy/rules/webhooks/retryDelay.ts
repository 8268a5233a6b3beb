/** When a webhook that has failed is tried again. */
export interface RetrySettings {
  readonly first_retry_s: number;
  readonly longest_retry_s: number;
  readonly give_up_after_s: number;
}

/**
 * Milliseconds until the next try after so many failures: the first pause, doubled each time, up to the longest one, and of
 * that a random share from a half to the whole; at least what the endpoint asks for, as far as the longest pause allows.
 */
export function retryDelayMs(
  failures: number,
  { first_retry_s, longest_retry_s }: Pick<RetrySettings, 'first_retry_s' | 'longest_retry_s'>,
  { random, retryAfterS = 0 }: { random: number; retryAfterS?: number },
): number {
  const ceiling = Math.min(first_retry_s * 2 ** Math.max(failures - 1, 0), longest_retry_s);
  const asked = Math.min(retryAfterS, longest_retry_s);
  return 1000 * Math.max(asked, ceiling * (0.5 + random / 2));
}

/** Whether a refusal is of this one message: the endpoint works, and others may succeed. */
export function isRefusal(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
