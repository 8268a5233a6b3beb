import { createHash } from 'node:crypto';
import { imageDigest, type Login, type RegistryAccess } from './repository.ts';

const manifest = Buffer.from('{"schemaVersion":2}');
const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
const login: Login = { user: 'ann', password: 'pw' };
const basic = `Basic ${Buffer.from('ann:pw').toString('base64')}`;

/** Indexes and manifests, of OCI and of Docker. */
const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

type Answer = Partial<Awaited<ReturnType<RegistryAccess['get']>>>;

/** Registries that answer as configured, by the URL and the authorization; records the requests. */
function registries(answers: Record<string, Answer>, logins: Record<string, Login> = {}) {
  const asked: string[] = [];
  const access: RegistryAccess = {
    loginOf: (registry) => logins[registry] ?? null,
    get: (url, { authorization = '', accept = '' }) => {
      if (url.pathname.startsWith('/v2/')) expect(accept.split(', ')).toEqual(manifestTypes);
      const request = `${url.href}${authorization && ` ${authorization}`}`;
      asked.push(request);
      return Promise.resolve({ status: 404, headers: {}, body: Buffer.alloc(0), ...answers[request] });
    },
  };
  return { access, asked };
}

const found: Answer = { status: 200, body: manifest, headers: { 'docker-content-digest': digest } };
const wants = (header: string): Answer => ({ status: 401, headers: { 'www-authenticate': header } });

it.each([
  ['app', 'https://registry-1.docker.io/v2/library/app/manifests/latest'],
  ['user/app:1', 'https://registry-1.docker.io/v2/user/app/manifests/1'],
  ['registry.example:5000/a/b/c:1', 'https://registry.example:5000/v2/a/b/c/manifests/1'],
  ['127.0.0.1:5000/app:1', 'http://127.0.0.1:5000/v2/app/manifests/1'],
  ['localhost:5000/app:1', 'http://localhost:5000/v2/app/manifests/1'],
])('%s is asked for at %s', async (reference, url) => {
  const { access, asked } = registries({ [url]: found });
  expect(await imageDigest(reference, access)).toBe(digest);
  expect(asked).toEqual([url]);
});

it('asks nobody for an image that names its digest', async () => {
  const { access, asked } = registries({});
  expect(await imageDigest(`app:1@${digest}`, access)).toBe(digest);
  expect(asked).toEqual([]);
});

it('gets a token with the login where there is one, as the registry says', async () => {
  const url = 'https://r.example/v2/app/manifests/1';
  const token = 'https://auth.example/token?service=r&scope=repository%3Aapp%3Apull';
  const answers = {
    [url]: wants('Bearer realm="https://auth.example/token",service="r",scope="repository:app:pull"'),
    [token]: { status: 200, body: Buffer.from('{"token":"anonymous"}') },
    [`${token} ${basic}`]: { status: 200, body: Buffer.from('{"access_token":"own"}') },
    [`${url} Bearer anonymous`]: found,
    [`${url} Bearer own`]: found,
  };
  const anonymous = registries(answers);
  expect(await imageDigest('r.example/app:1', anonymous.access)).toBe(digest);
  expect(anonymous.asked).toEqual([url, token, `${url} Bearer anonymous`]);
  const own = registries(answers, { 'r.example': login });
  expect(await imageDigest('r.example/app:1', own.access)).toBe(digest);
  expect(own.asked).toEqual([url, `${token} ${basic}`, `${url} Bearer own`]);
});

it('sends a login unchanged, and only if the registry asks for it', async () => {
  const url = 'https://r.example/v2/app/manifests/1';
  const { access, asked } = registries(
    { [url]: wants('Basic realm="r"'), [`${url} ${basic}`]: found },
    { 'r.example': login },
  );
  expect(await imageDigest('r.example/app:1', access)).toBe(digest);
  expect(asked).toEqual([url, `${url} ${basic}`]);
});

const url = 'https://r.example/v2/app/manifests/1';

it.each<[string, Answer, string]>([
  ['is not found', { status: 404 }, 'r.example answers 404'],
  ['is forbidden', { status: 403 }, 'r.example answers 403'],
  ['wants a login', wants('Basic realm="r"'), 'r.example requires a login, and none is configured for it'],
  ['wants a login of another kind', wants('Negotiate'), 'r.example requires an unknown kind of login'],
  ['wants a login at no address', wants('Bearer realm="token"'), 'r.example requires an unknown kind of login'],
  [
    'wants one without encryption',
    wants('Bearer realm="http://auth.example/"'),
    'r.example requires an unknown kind of login',
  ],
  [
    'wants one at a port of this host',
    wants('Bearer realm="http://127.0.0.1:2375/"'),
    'r.example requires an unknown kind of login',
  ],
  ['has no token', wants('Bearer realm="https://auth.example/"'), 'r.example gives no token (404)'],
  ['is another one', { ...found, body: Buffer.from('{}') }, `r.example gives other bytes than it says (${digest})`],
])('reports an image that %s', async (_what, answer, message) => {
  await expect(imageDigest('r.example/app:1', registries({ [url]: answer }).access)).rejects.toThrow(message);
});

it('needs no digest in the answer', async () => {
  const { access } = registries({ [url]: { status: 200, body: manifest } });
  expect(await imageDigest('r.example/app:1', access)).toBe(digest);
});

it.each<[string, Answer]>([
  ['with an error', { status: 500, body: Buffer.from('{"token":"t"}') }],
  ['without a token', { status: 200, body: Buffer.from('{"token":1}') }],
  ['with no JSON', { status: 200, body: Buffer.from('token') }],
])('reports a token service that answers %s', async (_what, answer) => {
  const answers = { [url]: wants('Bearer realm="https://auth.example/"'), 'https://auth.example/': answer };
  await expect(imageDigest('r.example/app:1', registries(answers).access)).rejects.toThrow(
    `gives no token (${answer.status})`,
  );
});

it('names what is not a registry', async () => {
  await expect(imageDigest('a.b:port/app', registries({}).access)).rejects.toThrow('a.b:port is not a registry');
});
