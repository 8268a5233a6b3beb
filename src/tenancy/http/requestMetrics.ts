import { counter, type MetricFamily, type Sample } from '../../platform/text/metrics.ts';

/** Upper bounds of the histogram in seconds; the last holds everything. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, Infinity];

/** What is counted of one route. */
interface Series {
  readonly labels: { method: string; route: string };
  /** Requests by the index of the lowest bound that they kept. */
  readonly buckets: number[];
  seconds: number;
  readonly statuses: Map<number, number>;
}

/** Counts requests by route and status, and how long they take. */
export class RequestMetrics {
  readonly #series = new Map<string, Series>();

  /** Counts a request that is over. `route` is a pattern of URLs, never a URL. */
  add(method: string, route: string, { status, seconds }: { status: number; seconds: number }): void {
    const series = this.#seriesOf(method, route);
    const bucket = bounds.findIndex((bound) => seconds <= bound);
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
    series.seconds += seconds;
    series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1);
  }

  families(): MetricFamily[] {
    const all = [...this.#series.values()];
    const requests = all.flatMap(({ labels, statuses }) =>
      [...statuses].map(([status, value]) => ({ labels: { ...labels, status }, value })),
    );
    return [
      counter('deployd_http_requests', 'Requests that were answered.', requests),
      {
        name: 'deployd_http_request_seconds',
        type: 'histogram',
        help: 'Time from the head of a request to the end of its answer.',
        samples: all.flatMap(histogramOf),
      },
    ];
  }

  #seriesOf(method: string, route: string): Series {
    const key = `${method} ${route}`;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const series = { labels: { method, route }, buckets: bounds.map(() => 0), seconds: 0, statuses: new Map() };
    this.#series.set(key, series);
    return series;
  }
}

function histogramOf({ labels, buckets, seconds }: Series): Sample[] {
  let count = 0;
  const cumulative = buckets.map((requests, index) => {
    const bound = bounds[index] ?? Infinity;
    count += requests;
    return { suffix: '_bucket', labels: { ...labels, le: bound === Infinity ? '+Inf' : bound }, value: count };
  });
  return [...cumulative, { suffix: '_count', labels, value: count }, { suffix: '_sum', labels, value: seconds }];
}
