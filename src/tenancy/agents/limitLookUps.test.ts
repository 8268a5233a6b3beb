import { ApiError } from '../core/apiError.rules.ts';
import type { BearerIdentity } from '../keys/bearerCache.ts';
import { limitLookUps } from '../core/limiter.ts';

/** Pending look-ups, at most two at once. */
function waitingLookUps() {
  const answers: PromiseWithResolvers<BearerIdentity | null>[] = [];
  const lookUp = limitLookUps(() => {
    const answer = Promise.withResolvers<BearerIdentity | null>();
    answers.push(answer);
    return answer.promise;
  }, 2);
  return { answers, lookUp };
}

it('refuses a look-up beyond the limit without calling the secretstore', async () => {
  const { answers, lookUp } = waitingLookUps();
  const waiting = [lookUp('one'), lookUp('two')];
  const refusal = await lookUp('three').catch((error: unknown) => error as ApiError);
  expect(refusal).toMatchObject({ fields: { status: 503, code: 'OVERLOADED' } });
  expect(answers).toHaveLength(2);
  answers.forEach(({ resolve }) => resolve(null));
  expect(await Promise.all(waiting)).toEqual([null, null]);
});

it('frees the place of a look-up that succeeded or failed', async () => {
  const { answers, lookUp } = waitingLookUps();
  const [one, two] = [lookUp('one'), lookUp('two')];
  answers[0]!.resolve(null);
  answers[1]!.reject(new Error('away'));
  await one;
  await expect(two).rejects.toThrow('away');
  void lookUp('three');
  void lookUp('four');
  expect(answers).toHaveLength(4);
});

it('sends different retry times to refused callers', async () => {
  const { lookUp } = waitingLookUps();
  void lookUp('one');
  void lookUp('two');
  const refusals = await Promise.all(
    Array.from({ length: 100 }, (_, at) => lookUp(`${at}`).catch((error: unknown) => error as ApiError)),
  );
  const times = refusals.map((refusal) => (refusal as ApiError).fields.retryAfterS!);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(5);
  expect(Math.max(...times)).toBeLessThanOrEqual(60);
  expect(new Set(times).size).toBeGreaterThan(20);
});
