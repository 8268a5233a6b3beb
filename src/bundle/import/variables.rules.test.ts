import {
  type ExpectedImport,
  expectImport,
  linesOf,
  type ProjectFiles,
  resultOf,
} from '../../../fixtures/world/import/importing.ts';
import type { ImportChoices } from './importWork.rules.ts';
import { parseProjectFile } from './projectDocument.rules.ts';
import { bareNamesOf, envValues, readEnvFile, valueScalars, variableNamesOf } from './variables.rules.ts';

describe('variables', () => {
  it.each<[string, string, ProjectFiles, ExpectedImport, Partial<ImportChoices>?]>([
    [
      'with a value become variables of the manifest',
      '{image: "x:$TAG"}',
      { '.env': 'TAG=1.2\nOTHER=3\n' },
      { a: { image: 'x:$TAG' }, variables: { TAG: '1.2' } },
    ],
    [
      'with a telling name become secrets, whose value is nowhere',
      '{image: x, command: "${DB_PASSWORD} ${TAG:-2}"}',
      { '.env': 'DB_PASSWORD=hunter2\n' },
      { a: { command: '${DB_PASSWORD} ${TAG:-2}' }, secrets: ['DB_PASSWORD'], variables: {} },
    ],
    [
      'with a telling value become secrets',
      '{image: x, command: $BACKEND}',
      { '.env': 'BACKEND=postgres://u:hunter2@db/x\n' },
      { secrets: ['BACKEND'] },
    ],
    [
      'without a value are empty, and left open',
      '{image: "x:$TAG"}',
      {},
      {
        variables: { TAG: '' },
        undecided: [/TAG has no value, so it is empty, as compose takes it → --variable TAG=VALUE/],
      },
    ],
    [
      'that are demanded and have no value stay open',
      '{image: "x:${TAG:?}"}',
      {},
      { variables: {}, undecided: [/TAG has no value → --variable TAG=VALUE/] },
    ],
    [
      'without a value are secrets by their name',
      '{image: x, command: $DB_PASSWORD}',
      {},
      { secrets: ['DB_PASSWORD'] },
    ],
    [
      'that are secrets lose their default',
      '{image: x, command: "${DB_PASSWORD:-hunter2}"}',
      {},
      { a: { command: '${DB_PASSWORD}' }, secrets: ['DB_PASSWORD'], changes: [/DB_PASSWORD\} has no default now/] },
    ],
    [
      'that are secrets may be empty',
      '{image: x, command: "${DB_PASSWORD:-}"}',
      {},
      { a: { command: '${DB_PASSWORD:-}' }, secrets: [] },
    ],
    [
      'can be decided',
      '{image: "x:$TAG", command: $DB_PASSWORD $PLAIN}',
      { '.env': 'DB_PASSWORD=open\nPLAIN=x\n' },
      { variables: { TAG: '3', DB_PASSWORD: 'open' }, secrets: ['PLAIN'] },
      {
        variables: new Map([
          ['TAG', '3'],
          ['DB_PASSWORD', null],
        ]),
        secrets: new Set(['PLAIN']),
      },
    ],
    [
      'that are reserved are written out',
      '{image: x, command: "${DOCKER_TAG:-1} $COMPOSE_X $HOME"}',
      { '.env': 'COMPOSE_X=a$$b\n' },
      { a: { command: '1 a$$b $HOME' }, undecided: [/HOME is reserved/] },
    ],
    [
      'that are reserved and secrets have another name',
      '{image: x, command: "$DOCKER_TOKEN ${SSH_KEY:-hunter2} ${GIT_TOKEN:-}"}',
      { '.env': 'DOCKER_TOKEN=hunter2\n' },
      {
        a: { command: '${SHOP_DOCKER_TOKEN} ${SHOP_SSH_KEY} ' },
        secrets: ['SHOP_DOCKER_TOKEN', 'SHOP_SSH_KEY'],
        changes: [/\$DOCKER_TOKEN is \$\{SHOP_DOCKER_TOKEN\} now/, /\$\{SHOP_SSH_KEY\} has no default now/],
      },
    ],
    [
      'with the name of the project have that of the project on its host',
      '{image: x, container_name: "${COMPOSE_PROJECT_NAME:-shop}-a", labels: {net: "${COMPOSE_PROJECT_NAME}_web"}}',
      { '.env': 'COMPOSE_PROJECT_NAME=own\n' },
      { a: { container_name: 'deployd-eu-1-a', labels: { net: 'deployd-eu-1_web' } } },
    ],
    [
      'of paths, names and privileges are written out',
      '{image: x, user: "${U:-1000}", ports: ["${P}:1", "${R:-1-2}:1-2"], labels: ["a.$P=$P"], depends_on: ["${B}"]}',
      { '.env': 'P=80\nB=b\n' },
      {
        a: { user: '1000', ports: ['${P}:1', '1-2:1-2'], labels: ['a.80=$P'], depends_on: ['b'] },
        variables: { P: '80' },
        changes: [/^service a: labels: a\.\$P is written out as a\.80$/],
      },
    ],
    [
      'of paths without a value are left open',
      '{image: x, volumes: ["${DIR}:/data"]}',
      {},
      { undecided: [/volumes: \$\{DIR\}:\/data has no value .* → --variable DIR=VALUE/, /DIR has no value/] },
    ],
  ])('%s', (_, service, more, expected, choices = {}) => {
    expectImport([service, more], expected, choices);
  });
});

function documentsOf(text: string) {
  const read = parseProjectFile('compose.yaml', text);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.documents;
}

it('variables are found in values, each once', () => {
  const documents = documentsOf('$K: "$A ${B:-$C}"\nservices: {a: {image: [$A, $D]}}\n---\nx: $E\n');
  expect(documents.flatMap(valueScalars).map(({ value }) => value)).toEqual(['$A ${B:-$C}', '$A', '$D', '$E']);
  expect(variableNamesOf(documents)).toEqual(['A', 'B', 'C', 'D', 'E']);
});

it.each<[string, string[]]>([
  ['services: {a: {environment: [A, B=1, "", $C, A]}, b: {environment: [A]}}', ['A']],
  ['services: {a: {environment: {A: , B: 1, C: "", D: [x], E: ~}}}', ['A', 'E']],
  ['x-e: &e {A: }\nservices: {a: {environment: {<<: *e, B: }}}', ['A', 'B']],
  ['services: {a: {environment: text}}', []],
  ['services: {a: {image: x}}', []],
  ['secrets: {s: {environment: S}}\nconfigs: {c: {environment: C}, d: {file: D}}\nservices: {}', ['C', 'S']],
])('names that stand without a dollar sign: %s', (text, names) => {
  expect(bareNamesOf(documentsOf(`${text}\n`))).toEqual(names);
});

it.each<[string, string[], number]>([
  ['A=1\nB=2\n', ['A=1', 'B=2'], 0],
  ['\ufeffA=1', ['A=1'], 0],
  ['A=1\nno assignment!\nB=2', ['A=1', 'B=2'], 1],
  ['!\n!\nA=1\n', ['A=1'], 2],
  ['A=1\n!', ['A=1'], 1],
  ['A=x\ufeffy\n', [], 1],
  [`${'!!!\n'.repeat(101)}A=1\n`, [], 101],
  [`${'!\n'.repeat(100)}A=1\n`, ['A=1'], 100],
  [`${'!\n'.repeat(101)}A=1\n`, [], 101],
])('reads line by line: %j', (text, assignments, unread) => {
  const read = readEnvFile(text);
  expect(read.assignments.map(({ name, template }) => `${name}=${template}`)).toEqual(assignments);
  expect(read.unread).toBe(unread);
});

it('an earlier line and the environment give variables their values', () => {
  const read = readEnvFile("A=1\nB=$A$C\nD=${NONE}x\nE='$A'\nF=${NONE:?}\nA=2\n");
  const values = envValues(read, (name) => (name === 'C' ? 'c' : null));
  expect(Object.fromEntries(values)).toEqual({ A: '2', B: '1c', D: 'x', E: '$A' });
  expect(envValues(readEnvFile('A=1\nB=$A\n'), () => 'own').get('B')).toBe('own');
});

const literalKeys =
  'cap_add cgroup cgroup_parent device_cgroup_rules external_links gpus group_add ipc label_file links network_mode ' +
  'oom_kill_disable oom_score_adj pid privileged runtime security_opt tmpfs user userns_mode uts volumes_from';

it.each(literalKeys.split(' '))('%s is written out', (key) => {
  expectImport([`{image: x, ${key}: "a$V"}`, { '.env': 'V=1', a1: '' }], { a: { [key]: 'a1' }, variables: {} });
});

it.each([
  ['configs: [$V]', { configs: ['v'] }],
  ['configs: [{source: $V, target: "/$V"}]', { configs: [{ source: 'v', target: '/v' }] }],
  ['secrets: [$V]', { secrets: ['v'] }],
  ['networks: [$V]', { networks: ['v'] }],
  ['profiles: [$V]', { profiles: ['v'] }],
  ['devices: ["/dev/$V"]', { devices: ['/dev/v'] }],
  [
    'deploy: {resources: {reservations: {devices: [{driver: $V}]}}}',
    { deploy: { resources: { reservations: { devices: [{ driver: 'v' }] } } } },
  ],
  ['volumes: ["/srv/$V:/x"]', { volumes: ['/srv/v:/x'] }],
  ['labels: ["$V.a=$V", "b=$V"]', { labels: ['v.a=$V', 'b=$V'] }],
  ['environment: ["${V}_A=$V", "$V=1"]', { environment: ['v_A=$V', 'v=1'] }],
  ['labels: {a: $V}', { labels: { a: '$V' } }],
  ['command: $V', { command: '$V' }],
])('%s', (service, expected) => {
  expectImport([`{image: x, ${service}}`, { '.env': 'V=v' }], { a: expected });
});

it.each([
  [
    'networks: {n: {name: "$V", external: $V, driver: $V, driver_opts: {a: $V}, ipam: {driver: $V}, labels: {a: $V}}}',
    5,
  ],
  ['volumes: {n: {name: "$V", external: $V, labels: {a: $V}}}', 2],
  ['configs: {n: {name: "$V", external: $V, environment: $V, content: $V}}', 3],
  ['secrets: {n: {name: "$V", environment: $V, content: $V}}', 2],
  ['name: $V', 1],
])('of the top level: %s', (text, count) => {
  const lines = linesOf({ 'compose.yaml': `services: {a: {image: x}}\n${text}\n`, '.env': 'V=no' });
  expect(lines.filter((line) => line.includes('$V is written out as no'))).toHaveLength(count);
  const { top } = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${text}\n`, '.env': 'V=no' });
  expect(JSON.stringify(top).split('$V')).toHaveLength(text.split('$V').length - count);
});

it.each([
  ['$P:80', '$P:80'],
  ['$PORT:80', '$PORT:80'],
  ['${PORT}:80', '${PORT}:80'],
  ['${P}:80', '${P}:80'],
  ['${P:-81}:80', '${P:-81}:80'],
  ['${P-81}:80', '${P-81}:80'],
  ['${P:-81-82}:80-81', '8000:80-81'],
  ['${P:+9}:80', '9:80'],
  ['${R}:80', '1-2:80'],
  ['$P-8001:1-2', '8000-8001:1-2'],
  ['${P}-8001:1-2', '8000-8001:1-2'],
  ['1-$P:1-2', '1-8000:1-2'],
  ['1-2:1-2', '1-2:1-2'],
])('the port %s becomes %s', (port, expected) => {
  expectImport([`{image: x, ports: ["${port}", {target: "${port}"}]}`, { '.env': 'P=8000\nPORT=8000\nR=1-2\n' }], {
    a: { ports: [expected, { target: expected }] },
  });
});

it('has values of compose itself, but none of a secret', () => {
  expectImport(['{image: x, volumes: ["$PWD/d:/d"], network_mode: "$COMPOSE_PROJECT_NAME"}', { d: null }], {
    a: { volumes: ['d-data:/d'], network_mode: 'deployd-eu-1' },
  });
  expectImport(['{image: x, user: "${TOKEN:-1}"}', { '.env': 'TOKEN=hunter2' }], {
    a: { user: '${TOKEN}' },
    secrets: ['TOKEN'],
    undecided: [/user: \$\{TOKEN:-1\} has no value that may be written out → --variable TOKEN=VALUE$/],
  });
  expectImport(['{image: x, user: "$$1", group_add: ["$V"]}', { '.env': "V='a$b'" }], {
    a: { user: '$$1', group_add: ['a$$b'] },
  });
});

it('the variable that lacks a value is named', () => {
  expectImport(['{image: x, user: "$V$NONE", labels: ["$NONE=1"]}', { '.env': 'V=1' }], {
    a: { user: '$V$NONE', labels: ['$NONE=1'] },
    undecided: [/user: .* → --variable NONE=VALUE$/, /labels: \$NONE has no value .* → --variable NONE=VALUE$/, /NONE/],
  });
});

it('a file of a config or secret, and whether it is from outside, is written out', () => {
  const part = '{n: {file: "$V", external: $V, environment: $V}}';
  for (const section of ['configs', 'secrets']) {
    const lines = linesOf({ 'compose.yaml': `services: {a: {image: x}}\n${section}: ${part}\n`, '.env': 'V=no' });
    const owner = section.slice(0, -1);
    for (const key of ['file', 'external', 'environment'])
      expect(lines).toContainEqual(expect.stringContaining(`${owner} n: ${key}: $V is written out as no, because`));
  }
});

it('each place is reported by its name, and unchanged ones are not', () => {
  const written = (place: string, before: string, after: string) =>
    `${place}: ${before} is written out as ${after}, because a variable must not decide a name, a path or a privilege over the host`;
  const text =
    'name: $N\nservices: {a: {image: x, user: "$$1", ports: ["${P:-1-2}:1-2"], labels: ["b${A=1", "$N=1"]}}\n';
  expect(linesOf({ 'compose.yaml': text, '.env': 'N=n\n' })).toEqual([
    written('service a: labels', '$N', 'n'),
    written('service a: ports', '${P:-1-2}:1-2', '1-2:1-2'),
    written('file compose.yaml: name', '$N', 'n'),
  ]);
});

it('what cannot be read, or holds a secret whatever its name, is left open', () => {
  const lines = linesOf({
    'compose.yaml': 'services: {a: {image: x, user: "${A", uts: "${BACKEND:-x}"}}\n',
    '.env': 'BACKEND=postgres://u:hunter2@db/x\n',
  });
  expect(lines).toContainEqual(expect.stringMatching(/user: .* has no value .* → --variable NAME=VALUE$/));
  expect(lines).toContainEqual(expect.stringMatching(/uts: .* has no value .* → --variable BACKEND=VALUE$/));
});
