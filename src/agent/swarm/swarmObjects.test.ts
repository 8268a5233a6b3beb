import { swarmNamesOf } from './swarmObjects.ts';

const bytes = (text: string) => Buffer.from(text);

it('returns names that a swarm accepts, whatever the name of the environment', () => {
  const { state, key, contents } = swarmNamesOf('e'.repeat(63));
  const { config, secret } = contents(bytes('k'));
  const names = [state, key, config('db', bytes('x')), secret('db', bytes('x'))];
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^deployd\.[0-9a-f]{12}\.[\w.-]{1,43}$/);
});

describe.each(['config', 'secret'] as const)('a %s', (kind) => {
  const nameOf = ({ env = 'eu-1', key = 'k', identity = 'db', data = 'x' }) =>
    swarmNamesOf(env).contents(bytes(key))[kind](identity, bytes(data));

  it.each([
    ['another env', { env: 'eu-2' }],
    ['other data', { data: 'y' }],
    ['another identity', { identity: 'web' }],
    ['what only looks alike', { identity: '', data: 'dbx' }],
  ])('gets a different name for %s', (_title, change) => {
    expect(nameOf({})).toBe(nameOf({}));
    expect(nameOf(change)).not.toBe(nameOf({}));
  });

  it(`is ${kind === 'config' ? 'called the same' : 'named anew'} for another key of the swarm`, () => {
    expect(nameOf({ key: 'l' }) === nameOf({})).toBe(kind === 'config');
  });
});
