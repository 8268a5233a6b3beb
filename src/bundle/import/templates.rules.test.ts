import {
  type ExpectedImport,
  expectImport,
  linesOf,
  type ProjectFiles,
  resultOf,
} from '../../../fixtures/world/import/importing.ts';
import type { ImportChoices } from './importWork.rules.ts';

describe('variables', () => {
  it.each<[string, string, ProjectFiles, ExpectedImport, Partial<ImportChoices>?]>([
    [
      'with a value become variables of the manifest',
      '{image: "x:$TAG"}',
      { '.env': 'TAG=1.2\nOTHER=3\n' },
      { a: { image: 'x:${TAG}' }, variables: { TAG: '1.2' } },
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
      'that are demanded and empty stay open, as compose refuses them',
      '{image: "x:${TAG:?}"}',
      { '.env': 'TAG=\n' },
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
      { a: { command: '1 a$$b ${HOME}' }, undecided: [/HOME is reserved/] },
    ],
    [
      'that are reserved and secrets have another name',
      '{image: x, command: "$DOCKER_TOKEN ${SSH_KEY:-hunter2} ${GIT_TOKEN:-}"}',
      { '.env': 'DOCKER_TOKEN=hunter2\n' },
      {
        a: { command: '${SHOP_DOCKER_TOKEN} ${SHOP_SSH_KEY} ' },
        secrets: ['SHOP_DOCKER_TOKEN', 'SHOP_SSH_KEY'],
        changes: [/\$\{DOCKER_TOKEN\} is \$\{SHOP_DOCKER_TOKEN\} now/, /\$\{SSH_KEY\} is \$\{SHOP_SSH_KEY\} now/],
      },
    ],
    [
      'with the name of the project have that of the project on its host',
      '{image: x, container_name: "${COMPOSE_PROJECT_NAME:-shop}-a", labels: {net: "${COMPOSE_PROJECT_NAME}_web"}}',
      { '.env': 'COMPOSE_PROJECT_NAME=own\n' },
      { a: { container_name: 'deployd-eu-1-a', labels: { net: 'deployd-eu-1_web' } } },
    ],
  ])('%s', (_, service, more, expected, choices = {}) => {
    expectImport([service, more], expected, choices);
  });
});
const literalKeys =
  'cap_add cgroup cgroup_parent device_cgroup_rules external_links gpus group_add ipc links network_mode ' +
  'oom_kill_disable oom_score_adj pid privileged runtime security_opt tmpfs user userns_mode uts volumes_from';

it.each(literalKeys.split(' '))('%s is written out', (key) => {
  expectImport([`{image: x, ${key}: "a$V"}`, { '.env': 'V=1' }], { a: { [key]: 'a1' }, variables: {} });
});

it.each([
  ['configs: [{source: $V, target: "/$V"}]', { configs: [{ source: 'v', target: '/v' }] }],
  ['secrets: [$V]', { secrets: ['v'] }],
  ['profiles: [$V]', { profiles: ['v'] }],
  ['devices: [{source: "/dev/$V", target: "/dev/x"}]', { devices: ['/dev/v:/dev/x'] }],
  [
    'deploy: {resources: {reservations: {devices: [{driver: $V}]}}}',
    { deploy: { resources: { reservations: { devices: [{ driver: 'v' }] } } } },
  ],
  ['volumes: [{type: bind, source: "/srv/$V", target: /x}]', { volumes: ['/srv/v:/x'] }],
  ['labels: {a: $V}', { labels: { a: '${V}' } }],
  ['command: [$V, "a $V-${W:-1}"]', { command: ['${V}', 'a ${V}-${W:-1}'] }],
  ['ports: [{target: 80, published: $V}]', { ports: ['${V}:80'] }],
  ['command: ["${V:+a}", "${W:+b}", "${V%x}"]', { command: ['a', '', '${V%x}'] }],
  ['command: ["${W:-$V}", "${W:-{a}}", "${V:?}$$V"]', { command: ['${W:-${V}}', '{a}', '${V}$$V'] }],
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
])('of the top level: %s', (text, count) => {
  const files = { 'compose.yaml': `services: {a: {image: x}}\n${text}\n`, '.env': 'V=no' };
  expect(linesOf(files).filter((line) => line.includes('${V} is written out as no'))).toHaveLength(count);
  expect(JSON.stringify(resultOf(files).top).split('${V}')).toHaveLength(text.split('$V').length - count);
});

it('a secret is never written out, whatever its name', () => {
  expectImport(
    [
      '{image: x, user: "${TOKEN:-1}", uts: "a${BACKEND:-x}"}',
      { '.env': 'TOKEN=abc\nBACKEND=redis://u:hunter2@db/x\n' },
    ],
    {
      a: { user: '${TOKEN}', uts: 'a${BACKEND}' },
      secrets: ['TOKEN', 'BACKEND'],
      undecided: [
        /user: \$\{TOKEN\} has no value that may be written out → --variable TOKEN=VALUE$/,
        /uts: \$\{BACKEND\} has no value that may be written out → --variable BACKEND=VALUE$/,
      ],
    },
  );
});

it('the variable that lacks a value is named', () => {
  expectImport(['{image: x, user: "$V$NONE"}', { '.env': 'V=1' }], {
    undecided: [
      /user: \$\{V\}\$\{NONE\} has no value .* → --variable NONE=VALUE$/,
      /^project: variables: NONE has no value/,
    ],
  });
});

it('a text that a variable decides otherwise is written out, without the values of secrets', () => {
  const files = { '.env': 'DB_PASSWORD=hunter2\nV=v\n' };
  expectImport(['{image: x, command: ["${V:+a}", "${DB_PASSWORD:+x}"], labels: {a: "${V:-1}"}}', files], {
    a: { command: ['a', 'x'], labels: { a: '${V}' } },
    secrets: [],
  });
});

it('values of the operator, such as the home, are left open in texts', () => {
  expectImport(['{image: x, command: [a, "$HOME/b"]}', {}], {
    a: { command: ['a', '${HOME}/b'] },
    undecided: [/HOME is reserved/],
  });
});
