import { type BearerIdentity, createBearerCache } from './bearerCache.ts';

const identity: BearerIdentity = { backendId: 'b-1', env: 'eu-1', generation: 1, accessor: 'a-1' };

/** A cache over a secretstore that knows only the bearer `known`, with a clock that the test sets. */
function cacheAt(start: number) {
  const clock = { now: start };
  const asked: string[] = [];
  const state = { away: false };
  const cache = createBearerCache(
    async (bearer) => {
      asked.push(bearer);
      if (state.away) throw new Error('away');
      return bearer.startsWith('known') ? identity : null;
    },
    () => clock.now,
  );
  return { cache, clock, asked, state };
}

it.each([
  ['an answer', 'known', identity, 60_000],
  ['a refusal', 'unknown', null, 5000],
])('caches %s for the configured time', async (_what, bearer, expected, lifetime) => {
  const { cache, clock, asked } = cacheAt(0);
  expect(await cache(bearer)).toEqual(expected);
  clock.now = lifetime - 1;
  expect(await cache(bearer)).toEqual(expected);
  expect(asked).toEqual([bearer]);
  clock.now = lifetime;
  await cache(bearer);
  expect(asked).toEqual([bearer, bearer]);
});

it('looks up a bearer once for concurrent requests, and each bearer separately', async () => {
  const { cache, asked } = cacheAt(0);
  expect(await Promise.all(['known', 'known', 'other'].map((bearer) => cache(bearer)))).toEqual([
    identity,
    identity,
    null,
  ]);
  expect(asked).toEqual(['known', 'other']);
});

it('does not cache a failure', async () => {
  const { cache, state } = cacheAt(0);
  state.away = true;
  await expect(cache('known')).rejects.toThrow('away');
  state.away = false;
  expect(await cache('known')).toEqual(identity);
});

it('continues to answer from the cache while the secretstore is down', async () => {
  const { cache, state } = cacheAt(0);
  await cache('known');
  state.away = true;
  expect(await cache('known')).toEqual(identity);
  await expect(cache('known too')).rejects.toThrow('away');
});

it('keeps known bearers when it removes expired ones', async () => {
  const { cache, clock, asked } = cacheAt(0);
  for (let index = 0; index < 9999; index++) await cache(`stray ${index}`);
  clock.now = 5000;
  await cache('known');
  await cache('one more');
  asked.length = 0;
  await cache('known');
  expect(asked).toEqual([]);
});
