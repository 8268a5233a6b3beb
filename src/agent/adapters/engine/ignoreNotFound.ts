/** The result of a call to the engine; null when it failed with 404, or with a tolerated status or message. */
export async function ignoreNotFound<T>(call: Promise<T>, ...tolerated: (number | RegExp)[]): Promise<T | null> {
  return call.catch((error: unknown) => {
    const { statusCode, message } = error as Error & { statusCode?: number };
    const isTolerated = (each: number | RegExp) =>
      typeof each === 'number' ? each === statusCode : each.test(message);
    if (statusCode !== undefined && [404, ...tolerated].some(isTolerated)) return null;
    throw error;
  });
}
