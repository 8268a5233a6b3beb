import { parse } from 'yaml';
import { expectImport, importedBundle, type ProjectFiles, resultOf } from '../../../fixtures/world/import/importing.ts';
import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { permitLines, permitsOf, verdictOf } from './importProject.rules.ts';
import type { ImportChoices } from './importWork.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

it('does not change a file that needs no change, with its comments and anchors', () => {
  const text =
    '# shop\nx-a: &a\n  restart: always # yes\nservices:\n  a:\n    <<: *a\n    image: x:1\n    cap_add: []\n';
  const { composeFiles, report, manifest, copies } = importedBundle({ 'compose.yaml': text });
  expect([...composeFiles]).toEqual([['compose.yaml', text]]);
  expect({ report, copies: copies.size }).toEqual({
    report: { changes: [], undecided: [], inactive_profiles: [], renamed: [] },
    copies: 0,
  });
  const fixed = { schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1 };
  expect(manifest).toEqual({ ...fixed, compose: ['compose.yaml'], secrets: [] });
});

it('keeps apart what services share', () => {
  const text = [
    'x-e: &e {A: 1}',
    'x-b: &b {image: x, env_file: .env, environment: *e}',
    'services: {a: *b, b: {<<: *b, environment: {<<: *e, C: 3}}, c: {image: y, environment: *e}}',
  ];
  const { composeFiles } = importedBundle({ 'compose.yaml': text.join('\n'), '.env': 'B=2\n' });
  const { services } = parse([...composeFiles.values()][0] ?? '', { merge: true }) as { services: object };
  expect(services).toEqual({
    a: { image: 'x', environment: { A: 1, B: '${B}' } },
    b: { image: 'x', environment: { A: 1, C: 3, B: '${B}' } },
    c: { image: 'y', environment: { A: 1 } },
  });
});

function verdictOn(service: string, more = '') {
  const parsed = parseComposeFile('compose.yaml', `services: {web: {image: a:1, ${service}}}\n${more}`);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
  const manifest: Manifest = {
    ...{
      schema: 1,
      name: 'shop',
      env: 'eu-1',
      version: '1',
      sequence: 1,
      production: false,
      compose: ['compose.yaml'],
    },
    ...{ agent: { allow_privileged: false, allow_rollback: false }, disk_need_bytes: null },
    ...{ profiles: [], variables: {}, secrets: [], registries: [] },
  };
  return verdictOf({
    ...{ manifest, sha: null, version: '1', variables: {}, refusals: [] },
    ...{
      project: composeProjectOf([parsed.file]),
      releaseFiles: new Set(['compose.yaml']),
      digests: new Map(),
      texts: new Map(),
    },
  });
}

it('a host that permits what a bundle asks for, and no more, would apply it', () => {
  const { permits, plan } = verdictOn('volumes: [/srv/a:/a, /srv/b:/b:ro], cap_add: [NET_ADMIN], network_mode: host');
  expect(permits).toEqual({ binds: ['/srv/a', '/srv/b:ro'], capabilities: ['NET_ADMIN'], host_network: ['web'] });
  expect(plan.refusals).toEqual([]);
});

it('a volume may have the name that the project gives it', () => {
  const { permits, plan } = verdictOn('tty: true', 'volumes: {a: {name: deployd-eu-1_a}}\n');
  expect([permits, plan.refusals]).toEqual([{}, []]);
});

it('what no permit lifts is refused', () => {
  const { permits, plan } = verdictOn('cgroup_parent: x, name: [y], volumes: [deployd-eu-1_x:/x]');
  expect(permits).toEqual({});
  expect(plan.refusals.map(({ code }) => code)).toEqual(['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED']);
});

it('needs only the privileges, each once', () => {
  const permits = permitsOf([
    { permit: 'engine_socket', entry: 'traefik' },
    { permit: 'binds', entry: '/srv/b', isWritable: false },
    { permit: 'binds', entry: '/srv/a', isWritable: true },
    { permit: 'binds', entry: '/srv/a', isWritable: false },
    { permit: 'binds', entry: '/srv/a', isWritable: true },
  ]);
  expect(permits).toEqual({ binds: ['/srv/a', '/srv/b:ro'], engine_socket: ['traefik'] });
});

it('is written as config.yaml has it', () => {
  const permits = { binds: ['/srv/a: #b', '/srv/*'], networks: ['proxy', 'no', '5'] };
  expect(parse(permitLines(permits).join('\n'))).toEqual({ policy: { permit: permits } });
  expect(permitLines({})).toEqual([]);
});

it('quotes what YAML would not read as text', () => {
  const networks = ['proxy', 'a-b', '_x', 'nox', 'xno', 'no', 'Yes', '5', 'a b', 'a.b'];
  expect(permitLines({ networks, volumes: ['v'] })).toEqual([
    ...[
      'policy:',
      '  permit:',
      '    networks: [proxy, a-b, _x, nox, xno, "no", "Yes", "5", "a b", "a.b"]',
      '    volumes: [v]',
    ],
  ]);
});

it('takes only the last words for the words of a read-only path', () => {
  const path = { permit: 'binds', entry: '/x:ro/y' } as const;
  expect(
    permitsOf([
      { ...path, isWritable: true },
      { ...path, isWritable: false },
    ]),
  ).toEqual({ binds: ['/x:ro/y'] });
});

const servicesOf = (text: string, choices: Partial<ImportChoices>) => {
  const { composeFiles } = importedBundle({ 'compose.yaml': `${text}\n` }, choices);
  return (parse([...composeFiles.values()][0] ?? '', { merge: true }) as { services: object }).services;
};

it('an image is chosen for a service alone', () => {
  const images = new Map([
    ['a', 'r/$x:1'],
    ['none', 'y'],
  ]);
  expect(servicesOf('x-b: &b {image: x}\nservices: {a: *b, b: *b}', { images })).toEqual({
    ...{ a: { image: 'r/$$x:1' }, b: { image: 'x' } },
  });
});

it('builds stay where a service has no image', () => {
  const text =
    'x-b: &b {build: .}\nservices: {a: {<<: *b, image: x}, b: *b, c: {build: ., image: y, develop: {watch: []}}}';
  expect(servicesOf(text, {})).toEqual({ a: { build: '.', image: 'x' }, b: { build: '.' }, c: { image: 'y' } });
});

it.each([
  'deploy: {mode: global, placement: {constraints: [node.role == worker]}}',
  'deploy: {replicas: 3, update_config: {parallelism: 1, order: start-first}, rollback_config: {order: stop-first}}',
  'deploy: {resources: {limits: {cpus: "0.5", memory: 64m}}, restart_policy: {condition: any}}',
  'ports: [{target: 80, published: "80", mode: host}]',
])('swarm settings of a service are carried over unchanged: %s', (line) => {
  const { composeFiles, report } = importedBundle({ 'compose.yaml': `services: {a: {image: x, ${line}}}\n` });
  expect(composeFiles.get('compose.yaml')).toContain(line);
  expect([...report.changes, ...report.undecided]).toEqual([]);
});

const environmentOf = (service: string, files: ProjectFiles = {}) => {
  const { a, variables, secrets } = resultOf({ 'compose.yaml': `services: {a: {image: x, ${service}}}\n`, ...files });
  return { environment: (a as { environment?: unknown }).environment, variables, secrets };
};

describe('what an environment sets', () => {
  it.each<[string, ProjectFiles, unknown, string[]]>([
    ['environment: [TOKEN=abc, A=b=c, TOKEN2]', {}, ['TOKEN=${TOKEN}', 'A=b=c'], ['TOKEN']],
    ['environment: {TOKEN: abc, A: "b=c", LIST: [x]}', {}, { TOKEN: '${TOKEN}', A: 'b=c', LIST: ['x'] }, ['TOKEN']],
    ['environment: {TOKEN: "", B: }', {}, { TOKEN: '' }, []],
    ['environment: [TOKEN=]', {}, ['TOKEN='], []],
    ['environment: {TOKEN: "$OTHER"}', { '.env': 'OTHER=1' }, { TOKEN: '$OTHER' }, []],
    ['environment: {TOKEN: "x$OTHER"}', { '.env': 'OTHER=1' }, { TOKEN: 'x$OTHER' }, []],
    ['environment: [{A: b}, B]', {}, [{ A: 'b' }], []],
    ['environment: {TOKEN: "a$$b"}', {}, { TOKEN: '${TOKEN}' }, ['TOKEN']],
    [
      'environment: {URL: "http://u:hunter2@$HOST/"}',
      { '.env': 'HOST=h' },
      { URL: 'http://u:${URL_PASSWORD}@$HOST/' },
      ['URL_PASSWORD'],
    ],
    ['environment: {URL: "http://u:$TOKEN@h/"}', {}, { URL: 'http://u:$TOKEN@h/' }, ['TOKEN']],
    ['environment: {API_TOKEN: }', {}, { API_TOKEN: null }, ['API_TOKEN']],
    ['environment: {PATH: , HOME: }', { '.env': 'PATH=/a$$b' }, { PATH: '/a$$b' }, []],
    ['environment: [PATH, HOME]', { '.env': "PATH='/a$b'" }, ['PATH=/a$$b'], []],
    ['environment: {A: , B: 1}', { '.env': 'A=1' }, { A: null, B: 1 }, []],
  ])('%s', (service, files, environment, secrets) => {
    expect(environmentOf(service, files)).toMatchObject({ environment, secrets });
  });

  it('keeps one value for a secret that services share', () => {
    const text =
      'x-e: &e {TOKEN: abc}\nservices: {a: {image: x, environment: *e}, b: {image: x, environment: {<<: *e, C: 1}}}\n';
    const found = resultOf({ 'compose.yaml': text });
    expect(found).toMatchObject({ a: { environment: { TOKEN: '${TOKEN}' } }, secrets: ['TOKEN'] });
    expect(found.changes).toEqual(['services a, b: environment.TOKEN: is ${TOKEN} now']);
  });

  it('names a second secret after the first of the services that share it', () => {
    const text =
      'x-b: &b {image: x, environment: [KEY=two]}\nservices: {a: {image: x, environment: [KEY=one]}, b-1: *b, c: *b}\n';
    expect(resultOf({ 'compose.yaml': text })).toMatchObject({ secrets: ['B_1_KEY', 'KEY'] });
  });
});

describe('an env file', () => {
  it.each<[string, ProjectFiles, unknown]>([
    ['env_file: .env', { '.env': 'A=1\nB=$A\n' }, { A: '${A}', B: '${B}' }],
    ['env_file: sub/.env', { 'sub/.env': 'A=1\nB=$A\n' }, { A: '1', B: '$A' }],
    ['env_file: a.env', { 'a.env': 'A=1\n!\nB=2\n' }, { A: '1', B: '2' }],
    ['env_file: [{path: a.env, format: raw}]', { 'a.env': 'TOKEN=a$b\nB=$A\n' }, { TOKEN: '${TOKEN}', B: '$$A' }],
    ['env_file: [a.env, b.env]', { 'a.env': 'A=1\nTOKEN=x\n', 'b.env': 'A=2\n' }, { TOKEN: '${TOKEN}' }],
    ['env_file: [b.env, a.env]', { 'a.env': 'A=1\nTOKEN=x\n', 'b.env': 'A=2\n' }, { A: '1', TOKEN: '${TOKEN}' }],
    ['env_file: .env, environment: [A]', { '.env': 'A=1\nB=2\n' }, ['A', 'B=${B}']],
    ['env_file: .env, environment: [AB=1]', { '.env': 'AB=1\nB=2\n' }, ['AB=1', 'B=${B}']],
    ['env_file: .env, environment: [{A: b}]', { '.env': 'B=2\n' }, [{ A: 'b' }, 'B=${B}']],
    ['env_file: .env, environment: text', { '.env': 'B=2\n' }, 'text'],
    ['env_file: .env, environment: {A: 3}', { '.env': 'A=1\nB=2\n' }, { A: 3, B: '${B}' }],
    ['env_file: .env', { '.env': 'A.B=1\nPATH=/x\nA=1\n' }, { 'A.B': '1', A: '${A}', PATH: '/x' }],
  ])('becomes environment: %s of %j', (service, files, environment) => {
    expect(environmentOf(service, files).environment).toEqual(environment);
  });

  it.each<[string, ProjectFiles, unknown, string[]]>([
    ['env_file: a.env', { 'a.env': 'A=1\n' }, 'a.env', ['a.env']],
    ['env_file: ./sub/../a.env', { 'a.env': 'A=1\n' }, './sub/../a.env', ['a.env']],
    ['env_file: ../a.env', { '../a.env': 'A=$V\n' }, 'parent/a.env', ['parent/a.env']],
    [
      'env_file: [{path: ../a.env}, .env]',
      { '../a.env': 'A=1\n', '.env': '' },
      [{ path: 'parent/a.env' }],
      ['parent/a.env'],
    ],
    ['env_file: [{path: a.env, format: raw}]', { 'a.env': 'A=$x\n' }, [{ path: 'a.env', format: 'raw' }], ['a.env']],
    ['env_file: .env', { '.env': '' }, undefined, []],
    ['env_file: [.env]', { '.env': 'A=1\n' }, undefined, []],
    ['env_file: []', {}, [], []],
  ])('stays unchanged: %s of %j', (service, files, expected, copies) => {
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x, ${service}}}\n`, ...files });
    expect((found.a as { env_file?: unknown }).env_file).toEqual(expected);
    expect(found.copies).toEqual(copies);
  });

  it.each(['false', 'no', 'OFF', '"n"'])('may be missing with required: %s', (word) => {
    expectImport([`{image: x, env_file: [{path: a, required: ${word}}, b]}`, { b: '' }], {
      a: { env_file: ['b'] },
      changes: [/a is left out/],
    });
  });

  it.each(['{path: a, required: "nofalse"}', '{path: a, required: falsey}', '/etc/a', '~/a', '$NONE', '{path: a}'])(
    'is left open: %s',
    (entry) => {
      const found = resultOf({
        'compose.yaml': `services: {a: {image: x, env_file: [${entry}]}}\n`,
        'etc/a': '',
        '~/a': '',
      });
      expect(found.undecided).toContainEqual(expect.stringMatching(/^service a: env_file: .* is not there → make it/));
      expect(found.copies).toEqual([]);
      expect(found.a).toHaveProperty('env_file.length', 1);
    },
  );

  it('that comes along brings its variables', () => {
    expectImport(['{image: x, env_file: a.env}', { 'a.env': 'A=$B${DB_PASSWORD}\n', '.env': 'B=1\n' }], {
      ...{ variables: { B: '1' }, secrets: ['DB_PASSWORD'], copies: ['a.env'] },
    });
  });

  it.each([
    'x-b: &b {image: x, environment: {A: 1}}\nservices: {a: {<<: *b, env_file: .env}, c: *b}\n',
    'services: {a: {image: x, env_file: .env, environment: &e {A: 1}}, c: {image: x, environment: *e}}\n',
    'services: {a: {image: x, env_file: .env, environment: {A: 1}}, c: {image: x, environment: {A: 1}}}\n',
    'services: {a: {image: x, environment: {A: 1}, env_file: .env}, c: {image: x, environment: {A: 1, B: 2}}}\n',
  ])('adds to no environment of another service: %s', (text) => {
    const { composeFiles } = importedBundle({ 'compose.yaml': text, '.env': 'B=2\n' });
    const { services } = parse([...composeFiles.values()][0] ?? '', { merge: true }) as {
      services: Record<string, { environment: object }>;
    };
    expect(services['a']?.environment).toEqual({ A: 1, B: '${B}' });
    expect(services['c']?.environment).toEqual(text.includes('B: 2') ? { A: 1, B: 2 } : { A: 1 });
  });

  it('keeps what an environment merges that it adds to', () => {
    const text = 'x-e: &e {A: 1}\nservices: {a: {image: x, env_file: .env, environment: {<<: *e, C: 1}}}\n';
    const { composeFiles } = importedBundle({ 'compose.yaml': text, '.env': 'B=2\n' });
    expect([...composeFiles.values()][0]).toContain('environment: {<<: *e, C: 1, B: ');
  });

  it('keeps the comments of an environment that it adds to', () => {
    const text = 'services:\n  a:\n    image: x\n    env_file: .env\n    environment:\n      A: 1 # one\n';
    const { composeFiles } = importedBundle({ 'compose.yaml': text, '.env': 'B=2\n' });
    expect([...composeFiles.values()][0]).toContain('A: 1 # one\n      B: ${B}\n');
  });

  it('names a second secret after its service', () => {
    const text = 'services: {a: {image: x, env_file: a.env}, b: {image: x, env_file: b.env}}\n';
    const found = resultOf({ 'compose.yaml': text, 'a.env': 'KEY=one\n', 'b.env': 'KEY=two\n' });
    expect(found).toMatchObject({ a: { environment: { KEY: '${KEY}' } }, secrets: ['KEY', 'B_KEY'] });
  });

  it('is the project’s own under another name', () => {
    const choices = { envFile: 'prod.env' };
    expectImport(
      ['{image: x, env_file: prod.env}', { 'prod.env': 'TOKEN=x\nA=1\n' }],
      {
        ...{ a: { environment: { TOKEN: '${TOKEN}', A: '${A}' } }, variables: { A: '1' }, secrets: ['TOKEN'] },
      },
      choices,
    );
  });

  it('of a service in several files is added where the last does not set its names', () => {
    const files = {
      'compose.yaml': 'services: {a: {image: x, env_file: .env}}\n---\nservices: {a: {environment: {A: 3}}}\n',
    };
    expect(resultOf({ ...files, '.env': 'A=1\nB=2\n' }).a).toEqual({ image: 'x', environment: { B: '${B}' } });
  });
});
