import { expectImport, linesOf, resultOf } from '../../../fixtures/world/import/importing.ts';

const literalKeys =
  'cap_add cgroup cgroup_parent device_cgroup_rules external_links gpus group_add ipc label_file links network_mode ' +
  'oom_kill_disable oom_score_adj pid privileged runtime security_opt tmpfs user userns_mode uts volumes_from';

it.each(literalKeys.split(' '))('%s is written out', (key) => {
  expectImport([`{image: x, ${key}: "a$V"}`, { '.env': 'V=1' }], { a: { [key]: 'a1' }, variables: {} });
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
