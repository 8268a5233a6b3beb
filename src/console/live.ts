/** What is told of the stream of changes. */
export interface LiveListener {
  /** Something of these topics has changed; null for anything, when the stream begins. */
  onChange: (topics: readonly string[] | null) => void;
  /** The stream was lost (since when, in milliseconds since 1970), or is there again (null). */
  onLost: (since: number | null) => void;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Follows the stream of changes while the page is seen: a browser has six connections to a service, which tabs behind
 * others would keep from the one in front. Browsers take a stream up again by themselves after a lost connection, but not
 * after an answer that is an error: then it is opened anew, later each time.
 */
export function followChanges({ onChange, onLost }: LiveListener): void {
  let lostSince: number | null = null;
  let retryMs = FIRST_RETRY_MS;
  let close = () => {};
  const open = () => {
    const stream = new EventSource('/v1/events');
    let retry: ReturnType<typeof setTimeout> | undefined;
    close = () => {
      stream.close();
      clearTimeout(retry);
    };
    stream.addEventListener('open', () => {
      retryMs = FIRST_RETRY_MS;
      // What changed before it was there is not told.
      onChange(null);
      lostSince = null;
      onLost(null);
    });
    stream.addEventListener('change', ({ data }: MessageEvent<string>) => {
      onChange((JSON.parse(data) as { topics: string[] }).topics);
    });
    stream.addEventListener('error', () => {
      lostSince ??= Date.now();
      onLost(lostSince);
      if (stream.readyState !== EventSource.CLOSED) return;
      // A load tells why it was refused, such as that the session is over.
      onChange(null);
      retry = setTimeout(open, retryMs);
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    });
  };
  const followWhileSeen = () => {
    close();
    if (!document.hidden) open();
  };
  document.addEventListener('visibilitychange', followWhileSeen);
  followWhileSeen();
}
