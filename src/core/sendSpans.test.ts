import { createClock } from '../../fixtures/world/servers/clock.ts';
import { createCa, serverNames } from '../../fixtures/world/servers/crypto/ca.ts';
import { type Answer, startHttpsServer, type TestServer } from '../../fixtures/world/servers/http/httpsServer.ts';
import { parseAuthorities } from './certificateAuthorities.ts';
import { createSendSpans, type QueueBounds, type SendSpans, SpanQueue } from './sendSpans.ts';
import type { Span, SpanSource } from './spans.rules.ts';

const ca = createCa();
const source: SpanSource = { program: 'deployd', version: '1.2.3', attributes: { 'deployd.env': 'eu-1' } };
const [traceId, spanId, parentSpanId] = ['6b9f0b5c0000400080000000000000aa', 'b7ad6b7169203331', 'b7ad6b7169203330'];
const span: Span = {
  ...{ traceId, spanId, parentSpanId, name: 'pulling', kind: 'internal', startMs: 1795712901541.25, durationMs: 40 },
  attributes: { 'deployd.exit': 1, 'deployd.codes': ['A', 'B'], 'deployd.sure': true },
  events: [{ name: 'downloaded', atMs: 1795712901550, attributes: { 'deployd.bytes': 9 } }],
  error: 'PULL_FAILED',
};

let server: TestServer;
let sent: { path: string; body: unknown; type: string | undefined; agent: string | undefined }[];
let answer: Answer;
let send: SendSpans;
beforeEach(async () => {
  sent = [];
  answer = { status: 200, body: {} };
  server = await startHttpsServer({
    ...{ certificate: ca.issue(serverNames), clock: createClock(), routeOf: () => 'traces' },
    answer: ({ path, body, headers }) => {
      sent.push({
        path,
        body: JSON.parse(body.toString()),
        type: headers['content-type'],
        agent: headers['user-agent'],
      });
      return answer;
    },
  });
  send = sender(ca.pem);
});
afterEach(() => server.stop());

function sender(pem: string): SendSpans {
  const readAuthorities = () => parseAuthorities(pem)!;
  return createSendSpans({ endpoint: `${server.url}/v1/traces`, readAuthorities }, source);
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

it('sends spans as OTLP says in JSON', async () => {
  expect(await send([span])).toBeNull();
  const resource = {
    attributes: [text('service.name', 'deployd'), text('service.version', '1.2.3'), text('deployd.env', 'eu-1')],
  };
  const told = {
    ...{ traceId, spanId, parentSpanId, name: 'pulling', kind: 1 },
    startTimeUnixNano: '1795712901541250000',
    endTimeUnixNano: '1795712901581250000',
    attributes: [
      { key: 'deployd.exit', value: { intValue: 1 } },
      { key: 'deployd.codes', value: { arrayValue: { values: [{ stringValue: 'A' }, { stringValue: 'B' }] } } },
      { key: 'deployd.sure', value: { boolValue: true } },
    ],
    events: [
      {
        name: 'downloaded',
        timeUnixNano: '1795712901550000000',
        attributes: [{ key: 'deployd.bytes', value: { intValue: 9 } }],
      },
    ],
    status: { code: 2, message: 'PULL_FAILED' },
  };
  expect(sent).toMatchObject([
    {
      ...{ path: '/v1/traces', type: 'application/json', agent: 'deployd/1.2.3' },
      body: {
        resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'deployd', version: '1.2.3' }, spans: [told] }] }],
      },
    },
  ]);
});

it('sends a first span without a parent, and one that has not failed without a status', async () => {
  await send([{ ...span, parentSpanId: null, error: null, kind: 'server' }]);
  const body = sent[0]!.body as { resourceSpans: { scopeSpans: { spans: object[] }[] }[] };
  const [told] = body.resourceSpans[0]!.scopeSpans[0]!.spans;
  expect(told).toMatchObject({ kind: 2, status: { code: 0 } });
  expect(told).not.toHaveProperty('parentSpanId');
});

it.each<[string, Answer, string | null]>([
  ['nothing', { status: 200 }, null],
  ['no JSON', { status: 200, body: 'thanks' }, null],
  ['a warning', { status: 200, body: { partialSuccess: { errorMessage: 'old' } } }, null],
  ['that some were refused', { status: 200, body: { partialSuccess: { rejectedSpans: '1' } } }, 'SPANS_REJECTED'],
  ['400', { status: 400, body: { message: 'a text of the server' } }, 'HTTP_400'],
  ['a redirect', { status: 307, headers: { location: '/elsewhere' } }, 'HTTP_307'],
  ['503', { status: 503 }, 'HTTP_503'],
  ['more than is read', { status: 200, body: 'x'.repeat(70_000) }, 'TOO_LARGE'],
])('returns a code for a collector that answers %s', async (_what, given, reason) => {
  answer = given;
  expect(await send([span])).toBe(reason);
  expect(sent).toHaveLength(1);
});

it('trusts the authorities of the configuration only', async () => {
  expect(await sender(createCa().pem)([span])).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  expect(sent).toEqual([]);
});

it('reads no authorities for plain HTTP', () => {
  const readAuthorities = () => {
    throw new Error('there are none');
  };
  const to = (endpoint: string) => () => createSendSpans({ endpoint, readAuthorities }, source);
  expect(to('http://127.0.0.1:4318/v1/traces')).not.toThrow();
  expect(to('https://127.0.0.1:4318/v1/traces')).toThrow('there are none');
});

const spanOf = (name: string) => ({ name }) as Span;

/** A queue whose collector answers when the test says so. */
function open(bounds: Partial<QueueBounds>) {
  const sent: string[] = [];
  const changes: (string | null)[] = [];
  let answers = Promise.withResolvers<string | null>();
  let asked = Promise.withResolvers<void>();
  const send = (spans: readonly Span[]) => {
    sent.push(spans.map(({ name }) => name).join(' '));
    asked.resolve();
    return answers.promise;
  };
  const queue = new SpanQueue(send, (reason) => changes.push(reason), bounds);
  return {
    queue,
    sent,
    changes,
    add: (...names: string[]) => names.forEach((name) => queue.add(spanOf(name))),
    /** Resolves when the next batch is on its way. */
    asked: async () => {
      await asked.promise;
      asked = Promise.withResolvers();
    },
    answer: (reason: string | null) => {
      const given = answers;
      answers = Promise.withResolvers();
      given.resolve(reason);
    },
  };
}

it('gathers spans, and sends them when a batch is full', async () => {
  const { queue, sent, add, asked, answer } = open({ batch: 2, waitMs: 60_000 });
  add('a');
  expect(sent).toEqual([]);
  add('b');
  await asked();
  answer(null);
  await queue.close();
  expect([sent, queue.counts]).toEqual([['a b'], { exported: 2, dropped: 0 }]);
});

it('sends few spans after a while too, and those that came while others were on their way', async () => {
  const { queue, sent, add, asked, answer } = open({ batch: 10, waitMs: 1 });
  add('a');
  await asked();
  add('b');
  answer(null);
  await asked();
  answer(null);
  await queue.close();
  expect([sent, queue.counts]).toEqual([['a', 'b'], { exported: 2, dropped: 0 }]);
});

it('drops and counts what does not fit while the collector is slow', async () => {
  const { queue, sent, add, asked, answer } = open({ size: 2, batch: 1, waitMs: 60_000 });
  add('a', 'b', 'c', 'd', 'e');
  await asked();
  expect([sent, queue.counts.dropped]).toEqual([['a'], 2]);
  answer(null);
  await asked();
  answer(null);
  await asked();
  answer(null);
  await queue.close();
  expect([sent, queue.counts]).toEqual([['a', 'b', 'c'], { exported: 3, dropped: 2 }]);
});

it('counts rejected spans, reports the reason once, and reports when spans are accepted again', async () => {
  const { queue, changes, add, asked, answer } = open({ batch: 1, waitMs: 60_000 });
  for (const reason of ['ECONNREFUSED', 'ECONNREFUSED', null, null]) {
    add('a');
    await asked();
    answer(reason);
    await new Promise(setImmediate);
  }
  await queue.close();
  expect([changes, queue.counts]).toEqual([['ECONNREFUSED', null], { exported: 2, dropped: 2 }]);
});

it('sends one last batch when it closes, and nothing after', async () => {
  const { queue, sent, add, asked, answer } = open({ size: 9, batch: 2, waitMs: 60_000 });
  add('a', 'b', 'c', 'd', 'e');
  await asked();
  const closed = queue.close();
  answer(null);
  await asked();
  add('f');
  answer(null);
  await closed;
  expect([sent, queue.counts]).toEqual([['a b', 'c d'], { exported: 4, dropped: 2 }]);
});
