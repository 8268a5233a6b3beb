import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { counter, gauge, info, type MetricFamily, type Sample, samplesBy } from '../../core/metrics.rules.ts';
import type { SpanQueue } from '../../core/sendSpans.ts';
import { parseTraceparent, type Span } from '../../core/spans.rules.ts';
import type { Admission, AdmissionCounts } from '../core/limiter.ts';
import type { LogLine } from '../core/log.ts';
import type { BearerCounts } from '../keys/bearerCache.ts';
import { countDiffering } from '../backends/fleet.ts';
import { countRollouts, type RolloutCounts } from '../rollouts/rollout.rules.ts';
import { countBackendsByState } from '../store/backends.ts';
import type { RolloutProgress } from '../store/database.ts';
import { listHeldEnvs } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { countPendingSteps } from '../store/pendingSteps.ts';
import { listActiveRollouts } from '../store/rollouts.ts';
import { countAllDeliveries } from '../store/webhooks.ts';

/** Sources of the service's metrics. */
interface MetricsDependencies {
  readonly store: Store;
  readonly version: string;
  /** Counts of the bearer cache. */
  readonly bearerCounts: Readonly<BearerCounts>;
  /** Null where traces are not sent. */
  readonly spans: SpanQueue | null;
}

/**
 * Exports the spans of agents' and operators' calls (spec §21.4), each as a child of its caller's span if there is one;
 * traces that the caller does not sample are not exported. `clock` is in milliseconds since 1970.
 */
export function traceRequests(app: FastifyInstance, spans: Pick<SpanQueue, 'add'>, clock: () => number): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { url } = request.routeOptions;
    const parent = parseTraceparent(request.headers.traceparent);
    if (url?.startsWith('/v1/') && parent?.isSampled !== false)
      spans.add({
        traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
        parentSpanId: parent?.spanId ?? null,
        startMs: clock() - reply.elapsedTime,
        ...describe(request, reply, url),
      });
    done();
  });
}

/** Describes a request by its route, never by its URL, whose parameters may be names of secrets. */
function describe(
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
): Omit<Span, 'traceId' | 'parentSpanId' | 'startMs'> {
  const { method, token, id } = request;
  const { statusCode: status, elapsedTime: durationMs } = reply;
  return {
    ...{ spanId: randomBytes(8).toString('hex'), kind: 'server', name: `${method} ${route}`, durationMs, events: [] },
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'deployd.request_id': id,
      ...(token && { 'deployd.backend': token.backendId }),
    },
    error: status < 500 ? null : String(status),
  };
}

/** Metrics of the service itself: its request limits, bearer cache, backends and process. */
export async function serviceMetrics(deps: MetricsDependencies, { counts }: Admission): Promise<MetricFamily[]> {
  const byLane = (field: keyof AdmissionCounts) =>
    Object.entries(counts).map(([lane, values]) => ({ labels: { lane }, value: values[field] }));
  const { hits, misses } = deps.bearerCounts;
  const { user, system } = process.cpuUsage();
  const backends = samplesBy('state', await countBackendsByState(deps.store));
  const differing = samplesBy('env', await countDiffering(deps.store));
  const pending = samplesBy('step', await countPendingSteps(deps.store));
  const deliveries = samplesBy('state', { ...(await countAllDeliveries(deps.store)) });
  const rollouts = await countActiveRollouts(deps);
  const asked = samplesBy('from', { cache: hits, secretstore: misses });
  const seconds = (user + system) / 1e6;
  return [
    info('deployd_build', 'Version of the service.', { version: deps.version }),
    gauge('deployd_http_places', 'Requests that may be handled at the same time.', byLane('places')),
    gauge('deployd_http_busy', 'Requests that are being handled.', byLane('busy')),
    counter('deployd_http_overloaded', 'Requests that were answered 503 because no place was free.', byLane('refused')),
    counter('deployd_bearers', 'Bearers of agents by where they were looked up.', asked),
    gauge('deployd_backends', 'Backends by state.', backends),
    gauge(
      'deployd_backends_differing',
      'Hosts whose settings differ from the settings recorded for their environment.',
      differing,
    ),
    gauge('deployd_pending_steps', 'Unfinished steps of retirements and deletions, by step.', pending),
    gauge('deployd_envs_held', 'Environments that a restore of the store holds until somebody releases them.', [
      { value: (await listHeldEnvs(deps.store)).length },
    ]),
    gauge('deployd_rollouts', 'Rollouts that are not over, by state.', samplesBy('state', rollouts.states)),
    gauge('deployd_rollout_hosts', 'Hosts in their waves, by outcome.', samplesBy('outcome', rollouts.hosts)),
    gauge('deployd_webhook_deliveries', 'Deliveries of events that are pending or have failed for good.', deliveries),
    ...(deps.spans === null ? [] : [spanMetric(deps.spans.counts)]),
    gauge('process_resident_memory_bytes', 'Memory of the process.', [{ value: process.memoryUsage.rss() }]),
    counter('process_cpu_seconds', 'Processor time of the process.', [{ value: seconds }]),
  ];
}

function spanMetric(counts: Record<string, number>): MetricFamily {
  return counter('deployd_trace_spans', 'Spans of requests, by result.', samplesBy('result', counts));
}

async function countActiveRollouts({ store }: { store: Store }): Promise<RolloutCounts> {
  const rows = await listActiveRollouts(store, null);
  return countRollouts(
    rows.map(({ state, progress }) => ({ state, progress: JSON.parse(progress) as RolloutProgress })),
  );
}

/**
 * Counts and logs every request by its route's parameters, never by its URL, because a caller may have put a secret in
 * the query.
 */
export function observeRequests(app: FastifyInstance, log: LogLine, metrics: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const caller = callerOf(request);
    const { method, url = 'unknown' } = request.routeOptions;
    const ms = reply.elapsedTime;
    metrics.add(String(method), url, { status: reply.statusCode, seconds: ms / 1000 });
    log('info', 'request', {
      request_id: request.id,
      method: request.method,
      route: url,
      // A caller without a valid token may have put anything there.
      ...(caller !== null && (request.params as Record<string, string>)),
      status: reply.statusCode,
      ms: Math.round(ms * 10) / 10,
      caller,
      address: request.ip,
    });
    done();
  });
}

function callerOf({ operator, token }: FastifyRequest): string | null {
  return operator?.name ?? token?.backendId ?? null;
}

/** Upper bounds of the histogram in seconds; the last one has no limit. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, Infinity];

/** Counts of one route. */
interface Series {
  readonly labels: { method: string; route: string };
  /** Requests by the index of the lowest bound that they stayed within. */
  readonly buckets: number[];
  seconds: number;
  readonly statuses: Map<number, number>;
}

/** Counts requests by route and status, and their durations. */
export class RequestMetrics {
  readonly #series = new Map<string, Series>();

  /** Counts a finished request. `route` is a URL pattern, never a URL. */
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

/** The caller's X-Request-Id if it is a plain word, otherwise a new id. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
}
