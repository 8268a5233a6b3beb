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

it('lets no address take all places, and confines an address with many refused look-ups, not one with many hosts', async () => {
  const known = { backendId: 'b', env: 'eu-1', generation: 1, accessor: 'a' };
  const pending: (() => void)[] = [];
  const lookUp = limitLookUps(async (bearer) => {
    if (bearer !== 'refused') await new Promise<void>((resolve) => pending.push(resolve));
    return bearer === 'known' ? known : null;
  }, 40);
  const codes = (calls: Promise<unknown>[]) =>
    Promise.all(
      calls.map((call) =>
        call.then(
          () => 'ok',
          (error: unknown) => (error as ApiError).fields.code,
        ),
      ),
    );
  const start = (bearer: string, address: string) => Array.from({ length: 35 }, () => lookUp(bearer, address));
  const count = async (bearer: string, address: string) => {
    const calls = codes(start(bearer, address));
    pending.splice(0).forEach((resolve) => resolve());
    return (await calls).filter((code) => code === 'ok').length;
  };
  expect(await count('known', 'nat')).toBe(30);
  expect(await count('known', 'nat')).toBe(30);
  expect(await count('refused', 'stranger')).toBe(30);
  expect(await count('unknown', 'stranger')).toBe(4);
  expect(await count('known', 'nat')).toBe(30);
});
