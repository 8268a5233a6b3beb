import { expectImport, type ExpectedImport, type ProjectFiles } from '../../../../fixtures/import/importing.ts';
import type { ImportChoices } from './importReport.ts';

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
      'of paths, names and powers are written out',
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
