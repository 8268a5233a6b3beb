import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { sharedEngine } from '../../../fixtures/world/harness.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

/** Imports a project; the outcome, and the compose file of the bundle. */
async function bring(files: Record<string, string>, ...more: string[]) {
  const dir = tempDir();
  const source = join(dir, 'shop');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    writeFileSync(join(source, path), text);
  }
  const out = join(dir, 'out');
  const { compose } = sharedEngine();
  const args = ['bundle', 'import', source, '--env', 'eu-1', '--out', out, '--compose', compose, ...more];
  const outcome = await deployctl(args);
  return { ...outcome, compose: parse(readFileSync(join(out, 'compose.yaml'), 'utf8')) as unknown };
}

it('finds the places of variables, and writes out values where compose takes no other kind', async () => {
  const { exit, stdout, compose } = await bring({
    '.env':
      'TAG=1.29\nURL=http://h:80/?a=$$b\nRO=true\nEMPTY=\nMEM=64m\nDB_PASSWORD=hunter2 x\nEVERY=5s\nIP=127.0.0.1\n',
    'compose.yaml': [
      'services:',
      '  web:',
      '    image: ${REGISTRY:-docker.io}/nginx:${TAG}',
      '    ports: ["${IP}:${PORT:-8080}:80"]',
      '    read_only: ${RO}',
      '    mem_limit: ${MEM}',
      '    healthcheck: {test: [CMD, a, "${TAG}"], interval: "${EVERY}", retries: "${RETRIES:-3}"}',
      '    command: run --tag ${TAG} ${EMPTY:-none} $$HOME',
      '    environment: {URL: "$URL", A: "${OPTION:-${TAG}-x}", B: "${TAG:+set}", P: "$DB_PASSWORD", EVERY: }',
    ].join('\n'),
  });
  expect([exit, stdout]).toEqual([0, expect.stringContaining('project: variables: RO is written out')]);
  expect(compose).toEqual({
    services: {
      web: {
        image: '${REGISTRY:-docker.io}/nginx:${TAG}',
        ports: ['${IP}:${PORT:-8080}:80'],
        ...{ read_only: true, mem_limit: '67108864' },
        healthcheck: { test: ['CMD', 'a', '${TAG}'], interval: '5s', retries: '${RETRIES:-3}' },
        command: ['run', '--tag', '${TAG}', '${EMPTY:-none}', '$$HOME'],
        environment: {
          ...{ URL: '${URL}', A: '${OPTION:-${TAG}-x}', B: 'set', P: '${DB_PASSWORD}', EVERY: '${EVERY}' },
        },
      },
    },
  });
});

it('leaves a password of several words in a command to decide, and writes it nowhere', async () => {
  const { exit, stdout, compose } = await bring({
    'compose.yaml': 'services: {a: {image: x, command: run $DB_PASSWORD}}\n',
    '.env': 'DB_PASSWORD=a b-hunter2\n',
  });
  expect([exit, stdout]).toEqual([1, expect.stringContaining('${DB_PASSWORD} is several words → write each word as')]);
  expect(compose).toEqual({ services: { a: { image: 'x', command: ['run', '${DB_PASSWORD}'] } } });
});

it('writes a home out that was chosen', async () => {
  const files = { 'compose.yaml': 'services: {a: {image: x, volumes: ["~/x:/x", "${HOME}/y:/y:ro"]}}\n' };
  const { exit, compose } = await bring(files, '--variable', 'HOME=/home/ann');
  expect([exit, compose]).toEqual([
    0,
    { services: { a: { image: 'x', volumes: ['/home/ann/x:/x', '/home/ann/y:/y:ro'] } } },
  ]);
});

const service = (...lines: string[]) =>
  `services:\n  a:\n    image: x\n${lines.map((line) => `    ${line}\n`).join('')}`;

describe('a project that other tools read wrongly', () => {
  it.each<[string, Record<string, string>, object]>([
    [
      'empty defaults and defaults with colons',
      { 'compose.yaml': service('environment: {A: "${IFACE:-}", B: "${IPV6:-::1}"}') },
      { environment: { A: '${IFACE:-}', B: '${IPV6:-::1}' } },
    ],
    [
      'braces around a variable, and dollar signs',
      { 'compose.yaml': service('environment: {A: "{{{ ${FOO:-foo} }}}"}', 'command: [echo, $$HOME, "a$$"]') },
      { environment: { A: '{{{ ${FOO:-foo} }}}' }, command: ['echo', '$$HOME', 'a$$'] },
    ],
    [
      'a directory that a variable of .env names',
      {
        'compose.yaml': service('volumes: ["${CONFIG_DIR:-./data}:/c:ro"]'),
        ...{ '.env': 'CONFIG_DIR=./conf\n', 'conf/a.yml': 'a' },
      },
      { volumes: ['./conf:/c:ro'] },
    ],
    [
      'a mounted file',
      { 'compose.yaml': service('volumes: [./config/prometheus.yml:/etc/p.yml]'), 'config/prometheus.yml': 'a' },
      { volumes: ['./config/prometheus.yml:/etc/p.yml:ro'] },
    ],
    [
      'a base in another directory, with a mounted file beside it',
      {
        'compose.yaml': 'services: {a: {extends: {file: base/b.yaml, service: b}}}\n',
        'base/b.yaml': 'services: {b: {image: x, volumes: [./hello.txt:/h.txt:ro]}}\n',
        'base/hello.txt': 'a',
      },
      { volumes: ['./base/hello.txt:/h.txt:ro'] },
    ],
    [
      'a bind mount that must not create its source',
      {
        'compose.yaml': service('volumes: [{type: bind, source: /srv/x, target: /x, bind: {create_host_path: false}}]'),
      },
      { volumes: [{ type: 'bind', source: '/srv/x', target: '/x', bind: { create_host_path: false } }] },
    ],
  ])('keeps %s', async (_, files, expected) => {
    const { exit, compose } = await bring(files);
    expect([exit, compose]).toEqual([0, { services: { a: { image: 'x', ...expected } } }]);
  });

  it('leaves a value open that only the env file of a service has, which compose does not use for variables', async () => {
    const { exit, stdout, compose } = await bring({
      ...{ 'compose.yaml': service('env_file: e.env', 'environment: {I: "${I}"}'), 'e.env': 'I=a\nJ=b\n' },
    });
    expect([exit, stdout]).toEqual([1, expect.stringContaining('project: variables: I has no value')]);
    expect(compose).toEqual({ services: { a: { image: 'x', environment: { I: '${I}', J: 'b' } } } });
  });

  it('does not join the container of another project', async () => {
    const { exit, stdout } = await bring({ 'compose.yaml': service('network_mode: container:gluetun') });
    expect([exit, stdout]).toEqual([1, expect.stringContaining('PRIVILEGED_REFUSED')]);
  });
});
