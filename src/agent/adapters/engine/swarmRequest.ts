/** A request by dockerode, which would put the body into the path as well, which others may log. */
export function inBody(options: { abortSignal: AbortSignal }, body: object, query: object = {}) {
  return { ...options, _query: query, _body: body };
}

interface EngineError {
  statusCode?: number;
  message?: string;
}

/** True when a call succeeds, false when it fails with an error that is expected. */
export function unless(isExpected: (error: EngineError) => boolean, call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    (error: unknown) => {
      if (isExpected(error as EngineError)) return false;
      throw error;
    },
  );
}

/** True when another writer was first, or what is written is gone. */
export function isOutOfSequence({ statusCode, message = '' }: EngineError): boolean {
  return statusCode === 404 || message.includes('update out of sequence');
}
