import { type QueueBounds, SpanQueue } from './spanQueue.ts';
import type { Span } from './spans.rules.ts';

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
