import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { counter, type MetricFamily, type Sample } from '../../core/metrics.rules.ts';
import type { LogLine } from '../core/log.ts';

/** Counts every request and logs it: by its route's parameters, never by its URL, whose query a caller may have put a secret in. */
export function observeRequests(app: FastifyInstance, log: LogLine, metrics: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url = 'unknown' } = request.routeOptions;
    const ms = reply.elapsedTime;
    metrics.add(String(method), url, { status: reply.statusCode, seconds: ms / 1000 });
    log('info', 'request', {
      request_id: request.id,
      method: request.method,
      route: url,
      ...(request.params as Record<string, string>),
      status: reply.statusCode,
      ms: Math.round(ms * 10) / 10,
      caller: callerOf(request),
      address: request.ip,
    });
    done();
  });
}

function callerOf({ operator, token }: FastifyRequest): string | null {
  return operator?.name ?? token?.backendId ?? null;
}

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

/** The caller's X-Request-Id where it is a plain word, else a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
}
