/** A call of the engine's, null where what it is about is gone, or refused with a status that is tolerated. */
export async function unlessGone<T>(call: Promise<T>, ...tolerated: number[]): Promise<T | null> {
  return call.catch((error: unknown) => {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== undefined && [404, ...tolerated].includes(statusCode)) return null;
    throw error;
  });
}
