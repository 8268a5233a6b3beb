import { parse } from 'yaml';
import { importedBundle, type ProjectFiles, resultOf } from '../../../fixtures/world/import/importing.ts';
import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { permitLines, permitsOf, verdictOf } from './importProject.rules.ts';
import type { ImportChoices } from './importWork.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

it('writes one file in the short forms of compose, and reports nothing where nothing changes', () => {
  const long = [
    'volumes: [{type: volume, source: d, target: /d}, {type: bind, source: /srv, target: /s, read_only: true, bind: {selinux: z}}]',
    'ports: [{mode: ingress, target: 80, published: "80", protocol: tcp}, {mode: ingress, target: 53, protocol: udp}]',
    'depends_on: {b: {condition: service_started, required: true}}, networks: {default: null}, command: null',
    'devices: [{source: /dev/a, target: /dev/b, permissions: r}], restart: "no", environment: {A: "yes", B: "010"}',
    'configs: [{source: c, mode: "0440"}], secrets: [{source: s, target: /run/secrets/s}], deploy: {placement: {}}',
  ];
  const text = [
    `services: {a: {image: x, ${long.join(', ')}}, b: {image: y}}`,
    'networks: {default: {name: deployd-eu-1_default, ipam: {}}}',
    'volumes: {d: {name: deployd-eu-1_d}}',
    'configs: {c: {content: x}}',
    'secrets: {s: {environment: S}}',
  ];
  const { composeFiles, report, manifest } = importedBundle({ 'compose.yaml': text.join('\n') });
  const a = {
    ...{ image: 'x', volumes: ['d:/d', '/srv:/s:ro,z'], ports: ['80:80', '53/udp'], depends_on: ['b'] },
    ...{ devices: ['/dev/a:/dev/b:r'], restart: 'no', environment: { A: 'yes', B: '010' } },
    ...{ configs: [{ source: 'c', mode: 0o440 }], secrets: ['s'] },
  };
  expect(parse(composeFiles.get('compose.yaml') ?? '')).toEqual({
    ...{ services: { a, b: { image: 'y' } }, volumes: { d: {} } },
    ...{ configs: { c: { content: 'x' } }, secrets: { s: { environment: 'S' } } },
  });
  expect([report.changes, report.undecided]).toEqual([[], []]);
  const fixed = { schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, compose: ['compose.yaml'] };
  expect(manifest).toMatchObject(fixed);
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

it('proposes start-first where nothing forbids it', () => {
  expect([verdictOn('tty: true').start_first, verdictOn('ports: ["80:80"]').start_first]).toEqual([['web'], []]);
});

it('a volume may have the name that the project gives it', () => {
  const { permits, plan } = verdictOn('tty: true', 'volumes: {a: {name: deployd-eu-1_a}}\n');
  expect([permits, plan.refusals]).toEqual([{}, []]);
});

it('leaves models to decide, which compose does not print', () => {
  const text = 'services: {a: {image: x, models: {llm: null}}}\nmodels: {llm: {model: m}}\n';
  const undecided = [
    'service a: models: hosts run no models → run them as a service, or give their address as a variable',
  ];
  expect(resultOf({ 'compose.yaml': text })).toMatchObject({ a: { image: 'x' }, top: {}, undecided });
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
      '    networks: [proxy, a-b, _x, nox, xno, "no", "Yes", "5", a b, a.b]',
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
  expect(servicesOf(text, {})).toEqual({ a: { image: 'x' }, b: { build: '.' }, c: { image: 'y' } });
});

it.each([
  'deploy: {mode: global, placement: {constraints: [node.role == worker]}}',
  'deploy: {replicas: 3, update_config: {parallelism: 1, order: start-first}, rollback_config: {order: stop-first}}',
  'deploy: {resources: {limits: {cpus: "0.5", memory: 64m}}, restart_policy: {condition: any}}',
  'ports: [{target: 80, published: "80", mode: host}]',
])('swarm settings of a service are carried over unchanged: %s', (line) => {
  const { a, changes, undecided } = resultOf({ 'compose.yaml': `services: {a: {image: x, ${line}}}\n` });
  expect(a).toEqual(parse(`{image: x, ${line}}`));
  expect([...changes, ...undecided]).toEqual([]);
});

const environmentOf = (service: string, files: ProjectFiles = {}) => {
  const { a, variables, secrets } = resultOf({ 'compose.yaml': `services: {a: {image: x, ${service}}}\n`, ...files });
  return { environment: (a as { environment?: unknown }).environment, variables, secrets };
};

describe('what an environment sets', () => {
  it.each<[string, ProjectFiles, unknown, string[]]>([
    ['environment: [TOKEN=abc, A=b=c, TOKEN2]', {}, { TOKEN: '${TOKEN}', A: 'b=c' }, ['TOKEN']],
    ['environment: {TOKEN: "", B: }', {}, { TOKEN: '' }, []],
    ['environment: {TOKEN: "$OTHER"}', { '.env': 'OTHER=1' }, { TOKEN: '${OTHER}' }, []],
    ['environment: {TOKEN: "x$OTHER"}', { '.env': 'OTHER=1' }, { TOKEN: 'x${OTHER}' }, []],
    ['environment: {TOKEN: "a$$b"}', {}, { TOKEN: '${TOKEN}' }, ['TOKEN']],
    [
      'environment: {URL: "http://u:hunter2@$HOST/"}',
      { '.env': 'HOST=h' },
      { URL: 'http://u:${URL_PASSWORD}@${HOST}/' },
      ['URL_PASSWORD'],
    ],
    ['environment: {URL: "http://u:$TOKEN@h/"}', {}, { URL: 'http://u:${TOKEN}@h/' }, ['TOKEN']],
    ['environment: {API_TOKEN: }', {}, { API_TOKEN: null }, ['API_TOKEN']],
    ['environment: {PATH: , HOME: }', {}, undefined, []],
    ['environment: {A: 1, B: 1}', { '.env': 'A=1' }, { A: '${A}', B: '1' }, []],
  ])('%s', (service, files, environment, secrets) => {
    expect(environmentOf(service, files)).toMatchObject({ environment, secrets });
  });

  it('keeps one value for a secret that services share', () => {
    const text =
      'x-e: &e {TOKEN: abc}\nservices: {a: {image: x, environment: *e}, b: {image: x, environment: {<<: *e, C: 1}}}\n';
    const found = resultOf({ 'compose.yaml': text });
    expect(found).toMatchObject({ a: { environment: { TOKEN: '${TOKEN}' } }, secrets: ['TOKEN'] });
    expect(found.changes).toEqual([
      ...['a', 'b'].map((name) => `service ${name}: environment.TOKEN: is \${TOKEN} now`),
      'project: files: anchors are left out',
      'project: files: x- sections are left out',
    ]);
  });

  it('names a second secret after the first of the services that share it', () => {
    const text =
      'x-b: &b {image: x, environment: [KEY=two]}\nservices: {a: {image: x, environment: [KEY=one]}, b-1: *b, c: *b}\n';
    expect(resultOf({ 'compose.yaml': text })).toMatchObject({ secrets: ['KEY', 'B_1_KEY'] });
  });
});
