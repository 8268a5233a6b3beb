/** The result of a call to the engine; null when it failed with 404 or one of the tolerated statuses. */
export async function ignoreNotFound<T>(call: Promise<T>, ...tolerated: number[]): Promise<T | null> {
  return call.catch((error: unknown) => {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== undefined && [404, ...tolerated].includes(statusCode)) return null;
    throw error;
  });
}
