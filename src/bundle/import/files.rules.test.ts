import {
  type ExpectedImport,
  expectImport,
  type ProjectFiles,
  resultOf,
} from '../../../fixtures/world/import/importing.ts';

const of = (section: string, part: string, files: ProjectFiles = {}) => {
  const text = `services: {a: {image: x}}\n${section}: {my-x: ${part}}\n`;
  const { top, secrets, copies, undecided } = resultOf({ 'compose.yaml': text, ...files });
  return { part: (top as Record<string, Record<string, unknown>>)[section]?.['my-x'], secrets, copies, undecided };
};
const fromStore = { part: { environment: 'MY_X' }, secrets: ['MY_X'], copies: [], undecided: [] };
const key = { k: '-----BEGIN PRIVATE KEY-----' };

it.each<[string, string, ProjectFiles]>([
  ['secrets', '{file: f}', {}],
  ['secrets', '{file: /run/f}', {}],
  ['secrets', '{external: true, name: n, driver: d, driver_opts: {a: b}}', {}],
  ['secrets', '{external: {name: n}}', {}],
  ['configs', '{file: k}', key],
  ['configs', '{file: ./k, external: false}', key],
])('the content of %s %s comes from the secretstore', (section, part, files) => {
  expect(of(section, part, files)).toEqual(fromStore);
});

it.each(['false', 'no', 'OFF', 'n'])('external: %s is not from outside', (word) => {
  expect(of('secrets', `{external: ${word}, content: c}`)).toMatchObject({ part: { content: 'c' }, secrets: [] });
  expect(of('configs', `{external: "${word}", content: c}`).undecided).toEqual([]);
});

it.each(['nofalse', 'falsey', 'true'])('external: %s is from outside', (word) => {
  expect(of('configs', `{external: ${word}}`).undecided).toHaveLength(1);
});

it('a secret of the environment is one, whatever its name', () => {
  expect(of('secrets', '{environment: PLAIN}')).toEqual({
    ...{ part: { environment: 'PLAIN' }, secrets: ['PLAIN'], copies: [], undecided: [] },
  });
  expect(of('configs', '{environment: PLAIN}', { '.env': 'PLAIN=1' })).toMatchObject({ secrets: [] });
});

it.each<[string, string, string[]]>([
  ['f', 'f', ['f']],
  ['./f', './f', ['f']],
  ['../f', './parent/f', ['parent/f']],
])('the file %s of a config comes along as %s', (file, expected, copies) => {
  expect(of('configs', `{file: ${file}}`, { f: '', '../f': '' })).toMatchObject({ part: { file: expected }, copies });
});

it.each(['/f', '~/f', 'none', 'd', 'x/~f'])('the file %s of a config is left open', (file) => {
  const files = { '~/f': '', f: '', 'd/f': '' };
  expect(of('configs', `{file: ${file}}`, files)).toMatchObject({ part: { file }, copies: [] });
  expect(of('configs', `{file: ${file}}`, files).undecided).toEqual([
    `config my-x: file: ${file} is not a file of the project → make it one`,
  ]);
});

it('two secrets whose names differ in case alone are two', () => {
  const text = 'services: {a: {image: x}}\nsecrets: {token: {file: f}, TOKEN: {file: f}}\n';
  expect(resultOf({ 'compose.yaml': text }).secrets).toEqual(['TOKEN', 'FILE_TOKEN']);
});

it('a file that a variable decides stays', () => {
  const { undecided } = of('configs', '{file: "$F"}');
  expect(undecided.every((line) => !line.includes('no file of the project'))).toBe(true);
});

describe('the environment of a service', () => {
  it.each<[string, string, ProjectFiles, ExpectedImport]>([
    [
      'loses its literal secrets',
      '{image: x, environment: {POSTGRES_PASSWORD: example, POSTGRES_USER: app, ALLOW_EMPTY_PASSWORD: "yes"}}',
      {},
      {
        a: {
          environment: { POSTGRES_PASSWORD: '${POSTGRES_PASSWORD}', POSTGRES_USER: 'app', ALLOW_EMPTY_PASSWORD: 'yes' },
        },
        secrets: ['POSTGRES_PASSWORD'],
        changes: [/environment\.POSTGRES_PASSWORD: is \$\{POSTGRES_PASSWORD\} now/],
      },
    ],
    [
      'names secrets after their service where several have the same name',
      '{image: x, environment: ["PASSWORD=one"]}, b: {image: x, environment: ["PASSWORD=two"]}, c: {image: x, environment: ["PASSWORD=one"]}',
      {},
      { a: { environment: ['PASSWORD=${PASSWORD}'] }, secrets: ['PASSWORD', 'B_PASSWORD'] },
    ],
    [
      'loses names without a value, as compose leaves them out',
      '{image: x, environment: [SMTP, API_KEY, TAG]}',
      { '.env': 'TAG=1' },
      { a: { environment: ['API_KEY', 'TAG'] }, secrets: ['API_KEY'], variables: { TAG: '1' } },
    ],
    [
      'has secrets with a reserved name by another',
      '{image: x, environment: [DOCKER_TOKEN, SSH_KEY, DOCKER_TAG]}',
      { '.env': 'DOCKER_TOKEN=hunter2\nDOCKER_TAG=1\n' },
      {
        a: { environment: ['DOCKER_TOKEN=${A_DOCKER_TOKEN}', 'SSH_KEY=${A_SSH_KEY}', 'DOCKER_TAG=1'] },
        secrets: ['A_DOCKER_TOKEN', 'A_SSH_KEY'],
        changes: [/environment\.DOCKER_TOKEN: is \$\{A_DOCKER_TOKEN\} now/],
      },
    ],
    [
      'tells all services that have it',
      '{image: x, environment: &e {TOKEN: hunter2}}, b: {image: x, environment: {<<: *e, LEVEL: "1"}}',
      {},
      { changes: [/^services a, b: environment\.TOKEN: is \$\{TOKEN\} now/] },
    ],
    [
      'gets what .env sets, unless it sets that itself',
      '{image: x, env_file: .env, environment: {TAG: "2"}}',
      { '.env': "TAG=1\nAPI_KEY=k\nLEVEL='a$b'\nPYTHONPATH=/x\n" },
      {
        a: { environment: { TAG: '2', API_KEY: '${API_KEY}', LEVEL: '${LEVEL}', PYTHONPATH: '/x' } },
        variables: { LEVEL: 'a$b' },
        secrets: ['API_KEY'],
      },
    ],
    [
      'gets env files that hold a secret, others come along',
      '{image: x, env_file: [a.env, {path: b.env}, {path: c.env, required: false}]}',
      { 'a.env': 'LEVEL=1\nTOKEN=abc\n', 'b.env': 'LEVEL=2\n' },
      {
        a: { env_file: [{ path: 'b.env' }], environment: { TOKEN: '${TOKEN}' } },
        copies: ['b.env'],
        secrets: ['TOKEN'],
        changes: [/a\.env is part of environment now/, /c\.env is left out/],
      },
    ],
    [
      'gets env files that a container may write to',
      '{image: x, env_file: [conf/a.env, b.env], volumes: [./conf:/c]}',
      { 'conf/a.env': 'LEVEL=1\n', 'b.env': 'B=1\n' },
      {
        a: { env_file: ['b.env'], environment: { LEVEL: '1' }, volumes: ['./conf:/c:ro'] },
        changes: [/conf\/a\.env is part of environment now/],
      },
    ],
    [
      'supplies secrets whose names are merged into it',
      '{image: x, environment: {<<: {API_KEY: , B_KEY: }, B_KEY: "$API_KEY"}}',
      {},
      { secrets: ['API_KEY'] },
    ],
    [
      'cannot have an env file that is missing',
      '{image: x, env_file: a.env}',
      {},
      { undecided: [/a\.env is not there/] },
    ],
  ])('%s', (_, service, more, expected) => {
    expectImport([service, more], expected);
  });
});
