import { type ExpectedImport, expectImport, type ProjectFiles } from '../../../fixtures/world/import/importing.ts';

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
