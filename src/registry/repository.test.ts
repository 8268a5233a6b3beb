import { parseImageReference } from './imageReference.rules.ts';
import { type Login, openRepository, parseChallenge, type RegistryAnswer } from './repository.ts';

const login: Login = { user: 'ann', password: 'pw' };
const basic = `Basic ${Buffer.from('ann:pw').toString('base64')}`;
const url = 'https://r.example/v2/shop/web/blobs/x';

/** Asks a registry for a blob; each URL, with its authorization, is answered as configured. Records the requests. */
async function ask(answers: Record<string, Partial<RegistryAnswer>>, reference = 'r.example/shop/web') {
  const asked: string[] = [];
  const repository = openRepository(parseImageReference(reference), {
    loginOf: () => login,
    get: ({ href }, { accept, authorization = '' }) => {
      expect(accept).toBe('any');
      const request = `${href}${authorization && ` ${authorization}`}`;
      asked.push(request);
      return Promise.resolve({ status: 404, headers: {}, body: Buffer.alloc(0), ...answers[request] });
    },
  });
  return { repository, asked, get: () => repository.get('blobs/x', 'any') };
}

const moved = (location: string): Partial<RegistryAnswer> => ({ status: 307, headers: { location } });
const wants: Partial<RegistryAnswer> = { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } };

it('sends a login with each call once it was asked for, and with none to another host', async () => {
  const { get, asked } = await ask({
    [url]: wants,
    [`${url} ${basic}`]: moved('https://storage.example/x'),
    'https://storage.example/x': moved('/y'),
    'https://storage.example/y': { status: 200 },
  });
  expect((await get()).status).toBe(200);
  expect((await get()).status).toBe(200);
  const storage = ['https://storage.example/x', 'https://storage.example/y'];
  expect(asked).toEqual([url, `${url} ${basic}`, ...storage, `${url} ${basic}`, ...storage]);
});

it('answers no challenge of another host', async () => {
  const { get, asked } = await ask({ [url]: moved('https://storage.example/x'), 'https://storage.example/x': wants });
  expect((await get()).status).toBe(401);
  expect(asked).toEqual([url, 'https://storage.example/x']);
});

it('authorizes again after a redirect back, or on the same host', async () => {
  const other = 'https://r.example/other';
  const { get } = await ask({ [url]: moved(other), [other]: wants, [`${other} ${basic}`]: { status: 200 } });
  expect((await get()).status).toBe(200);
});

it.each([
  ['without encryption', 'http://storage.example/x'],
  ['to this host, without encryption', 'http://127.0.0.1/x'],
  ['with a login', 'https://ann:pw@storage.example/x'],
  ['with a user', 'https://ann@storage.example/x'],
  ['with a password', 'https://:pw@storage.example/x'],
  ['to this host by another protocol', 'ftp://127.0.0.1/x'],
  ['to a file', 'file:///etc/passwd'],
  ['to no address', 'https://'],
])('follows no redirect %s', async (_what, location) => {
  const { get } = await ask({ [url]: moved(location) });
  await expect(get()).rejects.toThrow('r.example redirects to where nobody should go');
});

it('follows no redirect without an address, and no more than three', async () => {
  await expect((await ask({ [url]: { status: 302 } })).get()).rejects.toThrow('redirects to where nobody should go');
  await expect((await ask({ [url]: moved(url) })).get()).rejects.toThrow('r.example redirects more than 3 times');
});

it('follows a redirect of a registry on this host to another one here', async () => {
  const own = 'http://127.0.0.1:5000/v2/shop/web/blobs/x';
  const { get } = await ask(
    { [own]: moved('http://127.0.0.1:6000/x'), 'http://127.0.0.1:6000/x': { status: 200 } },
    '127.0.0.1:5000/shop/web',
  );
  expect((await get()).status).toBe(200);
});

it('follows no redirect of a registry on this host to another protocol', async () => {
  const own = 'http://127.0.0.1:5000/v2/shop/web/blobs/x';
  const { get } = await ask({ [own]: moved('ftp://127.0.0.1/x') }, '127.0.0.1:5000/shop/web');
  await expect(get()).rejects.toThrow('redirects to where nobody should go');
});

it.each(['r.example/../../x', 'r.example/a?b', 'r.example/a#b', 'r.example/a b'])(
  'asks nobody for %s',
  async (reference) => {
    const { get, asked } = await ask({}, reference);
    await expect(get()).rejects.toThrow(`${reference} is not an image`);
    expect(asked).toEqual([]);
  },
);

const bearer = (url: string) => ({ scheme: 'bearer', tokenUrl: new URL(url) });

it.each([
  ['Basic', { scheme: 'basic' }],
  ['basic realm="r"', { scheme: 'basic' }],
  ['Bearer realm="https://auth.example/token"', bearer('https://auth.example/token')],
  [
    'BEARER  realm="https://auth.example/token?a=1",service="r.example",scope="repository:a/b:pull"',
    bearer('https://auth.example/token?a=1&service=r.example&scope=repository%3Aa%2Fb%3Apull'),
  ],
  ['Bearer realm="http://127.0.0.1:5000/token",service=""', bearer('http://127.0.0.1:5000/token?service=')],
])('reads %s', (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});

it.each([
  undefined,
  '',
  'Negotiate',
  'Basically',
  ' Basic',
  'Bearer',
  'Bearer service="r"',
  'Bearer realm="token"',
  'Bearer realm="http://auth.example/token"',
  'Bearer realm="ftp://127.0.0.1/token"',
])('knows no way to answer %s', (header) => {
  expect(parseChallenge(header)).toBeNull();
});
