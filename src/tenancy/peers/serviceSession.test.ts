import { createServiceSession, type IssuedToken } from './secretstore.ts';

/** A session whose logins return `t-1`, `t-2` …, each for 300 seconds, with a clock that the test sets. */
function sessionAt(start: number) {
  const clock = { now: start };
  const refused = new Set<string>();
  const state = { logins: 0, fails: false };
  const session = createServiceSession(
    async (): Promise<IssuedToken> => {
      if (state.fails) throw new Error('away');
      state.logins += 1;
      return { token: `t-${state.logins}`, accessor: `a-${state.logins}`, ttlS: 300 };
    },
    () => clock.now,
  );
  const use = () => session.use(async (token) => (refused.has(token) ? undefined : token));
  return { clock, refused, state, session, use };
}

it('logs in once for concurrent calls', async () => {
  const { use, session, state } = sessionAt(0);
  expect(session.held()).toBeNull();
  expect(await Promise.all([use(), use(), use()])).toEqual(['t-1', 't-1', 't-1']);
  expect(state.logins).toBe(1);
  expect(session.held()).toMatchObject({ token: 't-1', accessor: 'a-1' });
});

it('logs in again before the token expires, and uses it meanwhile', async () => {
  const { use, clock } = sessionAt(0);
  await use();
  clock.now = 199_999;
  expect(await use()).toBe('t-1');
  clock.now = 200_000;
  expect(await use()).toBe('t-1');
  expect(await use()).toBe('t-2');
});

it('uses its token to the end if it cannot log in again, and then fails', async () => {
  const { use, clock, state } = sessionAt(0);
  await use();
  state.fails = true;
  clock.now = 299_999;
  expect(await use()).toBe('t-1');
  clock.now = 300_000;
  await expect(use()).rejects.toThrow('away');
  state.fails = false;
  expect(await use()).toBe('t-2');
});

it('replaces a refused token, once for all calls', async () => {
  const { use, clock, refused, state } = sessionAt(0);
  await use();
  refused.add('t-1');
  clock.now = 5000;
  expect(await Promise.all([use(), use()])).toEqual(['t-2', 't-2']);
  expect(state.logins).toBe(2);
});

it('replaces a token that was refused just after its login', async () => {
  const { use, refused, state } = sessionAt(0);
  await use();
  refused.add('t-1');
  expect(await Promise.all([use(), use()])).toEqual(['t-2', 't-2']);
  expect(state.logins).toBe(2);
});

it('does not log in endlessly if every token is refused', async () => {
  const { use, clock, refused, state } = sessionAt(0);
  for (let n = 1; n <= 9; n++) refused.add(`t-${n}`);
  const why = 'secretstore: the service is refused although it has just logged in';
  await expect(use()).rejects.toThrow(why);
  clock.now = 4999;
  await expect(use()).rejects.toThrow(why);
  expect(state.logins).toBe(2);
  clock.now = 5000;
  await expect(use()).rejects.toThrow(why);
  expect(state.logins).toBe(3);
});
