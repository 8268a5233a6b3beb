import { changeManifest, parseManifest, unusableReason } from './manifest.rules.ts';

const secret = { var: 'A', path: 'deployd/data/eu-1/see/a', field: 'f' };
const base = {
  schema: 1,
  name: 'shop',
  env: 'eu-1',
  version: '1',
  sequence: 42,
  compose: ['compose.yaml'],
  secrets: [secret],
};
const login = { host: 'registry.example:5000', username_var: 'A', password_var: 'A' };

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

function detailOf(manifest: unknown): string {
  const parsed = parseManifest(typeof manifest === 'string' ? manifest : JSON.stringify(manifest), 'eu-1');
  return 'refusal' in parsed ? parsed.refusal.detail : '';
}

describe('a manifest', () => {
  it('gets defaults for missing keys', () => {
    expect(parseManifest(JSON.stringify(base), 'eu-1')).toEqual({
      manifest: {
        ...base,
        production: false,
        agent: { allow_privileged: false, allow_rollback: false },
        profiles: [],
        disk_need_bytes: null,
        variables: {},
        secrets: [{ ...secret, version: null }],
        registries: [],
      },
    });
  });

  it('keeps its own values', () => {
    const full = {
      ...base,
      production: true,
      agent: { allow_privileged: true, allow_rollback: true },
      profiles: ['debug', 'x.1_y-Z'],
      disk_need_bytes: 0,
      variables: { LEVEL: 'info', EMPTY: '', LINES: 'a\nb' },
      secrets: [{ ...secret, version: 3 }],
      registries: [login],
    };
    expect(parseManifest(JSON.stringify(full), 'eu-1')).toEqual({ manifest: full });
  });

  it('has a default of false for each flag', () => {
    const parsed = parseManifest(JSON.stringify({ ...base, agent: { allow_rollback: true } }), 'eu-1');
    expect(parsed).toMatchObject({ manifest: { agent: { allow_privileged: false, allow_rollback: true } } });
  });

  it.each<[unknown, string]>([
    ['{', 'is not JSON'],
    ['[]', 'manifest: must be an object'],
    ['null', 'manifest: must be an object'],
    [' '.repeat(262_145), 'larger than'],
    [{ ...base, schema: 2 }, 'schema: must be 1'],
    [{ ...base, name: '' }, 'name: must be'],
    [{ ...base, name: 'a\nb' }, 'name: must be'],
    [{ ...base, version: 1 }, 'version: must be'],
    [{ ...base, env: 'EU' }, 'env: must be the name of an environment'],
    [{ ...base, env: 'eu-2' }, "env: must be eu-1, this host's environment"],
    [{ ...base, sequence: 0 }, 'sequence: must be an integer from 1'],
    [{ ...base, sequence: 1.5 }, 'sequence: must be'],
    [{ ...base, sequence: 2 ** 48 + 1 }, 'sequence: must be'],
    [{ ...base, sequence: '42' }, 'sequence: must be'],
    [{ ...base, production: 'false' }, 'production: must be true or false'],
    [
      { ...base, agent: { allow_all: true } },
      'agent.allow_all: is not a known key (allow_privileged, allow_rollback, emergency)',
    ],
    [{ ...base, agent: { allow_privileged: 1 } }, 'agent.allow_privileged: must be true or false'],
    [{ ...base, disk_need_bytes: -1 }, 'disk_need_bytes: must be'],
    [{ ...base, disk_need_bytes: null }, 'disk_need_bytes: must be'],
    [{ ...base, extra: 1 }, 'extra: is not a known key'],
    [{ ...base, compose: [] }, 'compose: must be a list of 1 to 20'],
    [{ ...base, compose: 'compose.yaml' }, 'compose: must be a list'],
    [{ ...base, compose: ['a.yaml', 'a.yaml'] }, 'compose[1]: stands twice'],
    ...['', '/a', '../a', './a', 'a/../b', 'a//b', 'a/.', 'a/', '.', '..', 'a\\b', 'a\nb', 'a/..'].map(
      (path): [unknown, string] => [{ ...base, compose: [path] }, 'compose[0]: must be a relative path'],
    ),
    [{ ...base, profiles: 'debug' }, 'profiles: must be a list of at most 100 profiles'],
    [{ ...base, profiles: numbers(101).map(String) }, 'profiles: must be a list of at most 100 profiles'],
    [{ ...base, profiles: ['a', 'b', 'a'] }, 'profiles[2]: stands twice'],
    ...['', '*', 'a b', 'a,b', '--x=', '${P}', 'ä', 'a'.repeat(201)].map((name): [unknown, string] => [
      { ...base, profiles: [name] },
      'profiles[0]: must be the name of a profile',
    ]),
    [{ ...base, secrets: {} }, 'secrets: must be a list'],
    [{ ...base, secrets: [{ ...secret, var: '1A' }] }, 'secrets[0].var: must be the name of a variable'],
    [{ ...base, secrets: [{ ...secret, var: 'A-B' }] }, 'secrets[0].var: must be'],
    [{ ...base, secrets: [{ ...secret, var: '\u212a' }] }, 'secrets[0].var: must be'],
    [{ ...base, secrets: [{ ...secret, version: 0 }] }, 'secrets[0].version: must be an integer from 1'],
    [{ ...base, secrets: [{ var: 'A', path: 'x' }] }, 'secrets[0].field: is missing'],
    [{ ...base, secrets: [secret, secret] }, 'secrets[1].var: stands twice'],
    [{ ...base, variables: [] }, 'variables: must be an object of at most 1000 variables'],
    [{ ...base, variables: { B: 1 } }, 'variables.B: must be text'],
    [{ ...base, variables: { B: null } }, 'variables.B: must be text'],
    [{ ...base, variables: { 'A-B': '' } }, 'variables.A-B: must be the name of a variable'],
    [{ ...base, variables: { ['B'.repeat(201)]: '' } }, `variables.${'B'.repeat(70)}…: must be the name of a variable`],
    [{ ...base, variables: { 'a\nb': 1 } }, 'variables.a\ufffdb: must be text'],
    [{ ...base, variables: { 'a\nb': 'x'.repeat(131_070) } }, 'variables.a\ufffdb: is too long: a\ufffdb=value takes'],
    [{ ...base, variables: { PATH: '' } }, 'variables.PATH: is reserved'],
    [{ ...base, variables: { A: '' } }, 'variables.A: is a variable of secrets too'],
    [{ ...base, variables: { B: 'a\0' } }, 'variables.B: holds a NUL character'],
    [{ ...base, variables: { B: '\ud800' } }, 'variables.B: is not valid Unicode'],
    [{ ...base, variables: { B: 'x'.repeat(131_070) } }, 'variables.B: is too long'],
    [
      { ...base, variables: Object.fromEntries(numbers(1001).map((at) => [`B${at}`, ''])) },
      'variables: must be an object',
    ],
    [JSON.stringify({ ...base, variables: { B: '' } }).replace('"B"', '"B":"","B"'), 'B: stands twice'],
    [
      { ...base, variables: { B: '' }, registries: [{ ...login, password_var: 'B' }] },
      'registries[0].password_var: is not a variable of secrets',
    ],
    [
      { ...base, registries: [{ ...login, password_var: 'B' }] },
      'registries[0].password_var: is not a variable of secrets',
    ],
    ...['https://x', 5].map((host): [unknown, string] => [
      { ...base, registries: [{ ...login, host }] },
      'registries[0].host: must be the host of the registry',
    ]),
    [{ ...base, registries: [login, { ...login, host: 'REGISTRY.example:5000' }] }, 'registries[1].host: stands twice'],
    [
      { ...base, registries: [{ ...login, host: 'r.example/' }] },
      'registries[0].host: must be the host of the registry',
    ],
    [
      { ...base, registries: [{ ...login, host: 'https://r.example' }] },
      'registries[0].host: must be the host of the registry',
    ],
    ['{"__proto__": {}, "constructor": 1}', '__proto__: is not a known key'],
    [JSON.stringify(base).replace('{', '{"sequence": 43, '), 'sequence: stands twice'],
    [JSON.stringify(base).replace('{', '{"s\\u0065quence": 43, '), 'sequence: stands twice'],
    [JSON.stringify(base).replace('"field"', '"var": "B", "field"'), 'secrets[0].var: stands twice'],
  ])('is refused: %j', (manifest, words) => {
    expect(detailOf(manifest)).toContain(words);
  });

  it.each<[object, string]>([
    [{ variables: { 'A-B': '' } }, 'variables.A-B: must be the name of a variable'],
    [{ variables: { B: 1 } }, 'variables.B: must be text'],
    [{ registries: [{ host: 'x', password_var: 'A' }] }, 'registries[0].username_var: is missing'],
    [{ profiles: [...numbers(10).map(String), '*'] }, 'profiles[10]: must be the name of a profile'],
  ])('reports one mistake once: %j', (changes, detail) => {
    expect(detailOf({ ...base, ...changes })).toMatch(new RegExp(`^${RegExp.escape(detail)}[^;]*$`));
  });

  it.each(['schema', 'name', 'env', 'version', 'sequence', 'compose', 'secrets'])('is refused without %s', (key) => {
    expect(detailOf({ ...base, [key]: undefined })).toBe(`${key}: is missing`);
  });

  it.each(
    'DEPLOYD_SHA DEPLOYD_Z_D COMPOSE_FILE DOCKER_HOST BUILDKIT_HOST BUILDX_BUILDER LD_PRELOAD XDG_RUNTIME_DIR SSH_AUTH_SOCK PYTHONPATH GIT_DIR PATH HOME USER LOGNAME SHELL PWD OLDPWD TMPDIR IFS NODE_OPTIONS SSL_CERT_FILE SSL_CERT_DIR http_proxy HTTPS_PROXY No_Proxy ALL_PROXY'.split(
      ' ',
    ),
  )('must not set %s', (name) => {
    expect(detailOf({ ...base, secrets: [{ ...secret, var: name }] })).toContain('is reserved');
  });

  it.each([
    'DEPLOY_KEY',
    'COMPOSER',
    'path',
    'MY_PATH',
    'LDAP_URL',
    'PROXY',
    'MY_PROXY',
    'MY_HTTP_PROXY',
    'HTTP_PROXY_URL',
    'MY_DOCKER_HOST',
    'GITHUB',
    'TZ',
    'LANG',
    'LC_ALL',
  ])('may set %s', (name) => {
    expect(detailOf({ ...base, secrets: [{ ...secret, var: name }] })).toBe('');
  });

  it('takes as many variables as it may have, of any name and of the greatest length', () => {
    const variables = { ...Object.fromEntries(numbers(999).map((at) => [`B${at}`, ''])), C: 'x'.repeat(131_069) };
    expect(detailOf({ ...base, variables })).toBe('');
    const parsed = parseManifest(JSON.stringify({ ...base, variables: {} }).replace('{}', '{"__proto__":"x"}'), 'eu-1');
    expect(parsed).toHaveProperty('manifest.variables.__proto__', 'x');
  });

  it('reports all errors at once, whatever their type', () => {
    const bad = { ...base, env: 'eu-2', sequence: -1, extra: 1, secrets: [{ ...secret, var: 'PATH' }, { var: 'B' }] };
    const parsed = parseManifest(JSON.stringify(bad).replace('{', '{"name": "x", '), 'eu-1');
    expect(parsed).toMatchObject({ refusal: { code: 'MANIFEST_INVALID' } });
    for (const path of [
      'name:',
      'extra:',
      'sequence:',
      'env:',
      'secrets[0].var:',
      'secrets[1].path:',
      'secrets[1].field:',
    ]) {
      expect(detailOf(JSON.stringify(bad).replace('{', '{"name": "x", '))).toContain(path);
    }
  });

  it.each<[string, object | string, string]>([
    ['what is too large', ' '.repeat(262_145), 'put the values into files of the bundle'],
    ['what is not JSON', ' '.repeat(262_144), 'write it without comments and trailing commas'],
    [
      'a key that is missing',
      { sequence: undefined },
      'write an integer from 1 to 2^48 that is higher in each new bundle of the environment',
    ],
    ['a key that is not known', { colour: 'red' }, 'leave it out, or write one of these'],
    ['another env', { env: 'eu-2' }, 'make a bundle for each environment'],
    ['a profile that stands twice', { profiles: ['p', 'p'] }, 'leave one of them out'],
    ['a reserved variable', { variables: { PATH: 'x' } }, 'give it another name'],
    ['a value that none can have', { variables: { B: 'a\0' } }, 'give it another value'],
    ['a login that is not a secret', { registries: [{ ...login, username_var: 'NOBODY' }] }, 'add it to secrets'],
    ['a value of the wrong kind, whose text says it', { sequence: 'one' }, ''],
  ])('has a cure for %s', (_title, changes, cure) => {
    const text = typeof changes === 'string' ? changes : JSON.stringify({ ...base, ...changes });
    expect(parseManifest(text, 'eu-1')).toMatchObject({ refusal: { faults: [{ cure }] } });
  });

  it('limits the number of reported errors', () => {
    const faultsOf = (profiles: string[]) => {
      const parsed = parseManifest(JSON.stringify({ ...base, profiles }), 'eu-1');
      return 'refusal' in parsed ? (parsed.refusal.faults ?? []) : [];
    };
    const bad = numbers(100).map((at) => `*${at}`);
    expect(faultsOf(bad)).toHaveLength(100);
    const secrets = Array.from({ length: 500 }, () => ({}));
    const parsed = parseManifest(JSON.stringify({ ...base, secrets }), 'eu-1');
    expect(parsed).toMatchObject({ refusal: { faults: { length: 101, 100: { text: 'and 1400 more', cure: '' } } } });
  });

  it('finds duplicate keys next to strings with quotes, braces and colons', () => {
    expect(detailOf({ ...base, name: 'a": {"name": [', version: '\\"x' })).toBe('');
  });
});

it('keeps the order of the keys, and adds new ones at the end', () => {
  const text = changeManifest('{"env":"eu-1","sequence":1}', ({ sequence }) => ({
    sequence: sequence + 1,
    name: 'shop',
  }));
  expect(text).toBe('{\n  "env": "eu-1",\n  "sequence": 2,\n  "name": "shop"\n}\n');
});

describe('a value', () => {
  test.each([
    ['a number', 5, 'is not a string'],
    ['an object', { a: 'hunter2' }, 'is not a string'],
    ['null', null, 'is not a string'],
    ['a NUL', 'hunter2\0', 'holds a NUL character'],
    ['a high surrogate alone', 'hunter2\ud83d', 'is not valid Unicode (lone surrogate)'],
    ['a low surrogate alone', '\ude00hunter2', 'is not valid Unicode (lone surrogate)'],
    ['one byte too many', 'é'.repeat(65_534) + 'xx', 'is too long: V=value takes 131072 of 131071 bytes'],
  ])('with %s is unusable', (_what, text, reason) => {
    expect(unusableReason('V', text)).toBe(reason);
  });

  test.each([
    ['empty', ''],
    ['of several lines', 'a\r\nb'],
    ['just short enough', 'é'.repeat(65_534) + 'x'],
  ])('that is %s is usable', (_what, text) => {
    expect(unusableReason('V', text)).toBeNull();
  });
});
