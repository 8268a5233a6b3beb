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

  const [web, docker] = ['services: {a: {image: x, ', 'apps/web/docker-compose.yml'];
  it.each<[string, Record<string, string>, Record<string, object>, string[]]>([
    [
      'the octal mode and the size of a tmpfs',
      { 'compose.yaml': service('volumes: [{type: tmpfs, target: /c, tmpfs: {mode: 01777, size: 512000000}}]') },
      { a: { volumes: [{ type: 'tmpfs', target: '/c', tmpfs: { mode: 0o1777, size: '512000000' } }] } },
      [],
    ],
    [
      'an env file beside a compose file in a subdirectory',
      { [docker]: `${web} env_file: stack.env}}\n`, 'stack.env': 'A=root\n', 'apps/web/stack.env': 'A=web\n' },
      { a: { environment: { A: 'web' } } },
      ['-f', docker],
    ],
    [
      'two services that extend the same one',
      {
        'compose.yaml':
          'services: {a: {extends: {file: b/c.yaml, service: b}, environment: {P: "1"}}, z: {extends: {file: b/c.yaml, service: b}, environment: {P: "2"}}}\n',
        'b/c.yaml': 'services: {b: {image: x, environment: [T=UTC], ports: ["80"]}}\n',
      },
      {
        a: { environment: { P: '1', T: 'UTC' }, ports: ['80'] },
        z: { environment: { P: '2', T: 'UTC' }, ports: ['80'] },
      },
      [],
    ],
    [
      'ports that an override gives to one of the services with the same anchor',
      {
        'compose.yaml': 'services: {a: &a {image: x, init: true}, z: {<<: *a, command: [z]}}\n',
        'compose.override.yaml': 'services: {a: {ports: ["8000:8080"]}}\n',
      },
      { a: { init: true, ports: ['8000:8080'] }, z: { init: true, command: ['z'] } },
      [],
    ],
    [
      'the value that the operator chooses, before .env and other env files',
      {
        'compose.yaml': service('env_file: [.env, stack.env]', 'environment: ["A=${A}", "B=${B}"]'),
        ...{ '.env': 'A=env\nB=env\n', 'stack.env': 'A=stack\nB=stack\nD=stack\n' },
      },
      { a: { environment: { A: '${A}', B: '${B}', D: 'stack' } } },
      ['--variable', 'A=ui'],
    ],
    [
      'a password that compose cuts at a dollar sign, and no part of it',
      { 'compose.yaml': service('env_file: .env'), '.env': 'PASSWORD="abc$def"\n' },
      { a: { environment: { PASSWORD: '${PASSWORD}' } } },
      [],
    ],
    [
      'health checks without a command',
      {
        'compose.yaml':
          'services: {a: {image: x, healthcheck: {disable: true}}, z: {image: x, healthcheck: {interval: 10s}}}\n',
      },
      { a: { healthcheck: { disable: true } }, z: { healthcheck: { interval: '10s' } } },
      [],
    ],
    [
      'a range of ports for one of a container, and addresses of IPv6',
      { 'compose.yaml': service('ports: ["127.0.0.1:6789-6799:8080", "[::1]:443:443/udp"]') },
      {
        a: {
          ports: [
            '127.0.0.1:6789-6799:8080',
            { mode: 'ingress', host_ip: '::1', target: 443, published: '443', protocol: 'udp' },
          ],
        },
      },
      [],
    ],
    [
      'a secret with capital letters, whose file is above the compose file',
      {
        [docker]: `${web} secrets: [PAYER_SECRETS]}}\nsecrets: {PAYER_SECRETS: {file: ../payer.txt}}\n`,
        'apps/payer.txt': 'a',
      },
      { a: { secrets: ['PAYER_SECRETS'] } },
      ['-f', docker],
    ],
    [
      'two dollar signs and backticks in labels',
      { 'compose.yaml': service('labels: ["t.to=$${1}://$${2}", "t.rule=Host(`a.b`)"]') },
      { a: { labels: { 't.to': '$${1}://$${2}', 't.rule': 'Host(`a.b`)' } } },
      [],
    ],
    [
      'variables of values behind names with variables',
      {
        'compose.yaml': service(
          'labels: ["t.${ROUTER:-mqtt}.rule=HostSNI(`${DOMAIN:?set it}`)", "x.${ROUTER:-mqtt}.auth=${AUTH_TOKEN}"]',
          'environment: ["${PREFIX}_HOST=${DOMAIN}", "${PREFIX}_X=${AUTH_TOKEN}"]',
        ),
        '.env': 'DOMAIN=a.example\nAUTH_TOKEN=hunter2hunter2\nPREFIX=APP\n',
      },
      {
        a: {
          environment: { APP_HOST: '${DOMAIN}', APP_X: '${AUTH_TOKEN}' },
          labels: { 't.mqtt.rule': 'HostSNI(`${DOMAIN}`)', 'x.mqtt.auth': '${AUTH_TOKEN}' },
        },
      },
      [],
    ],
  ])('keeps also %s', async (_, files, expected, args) => {
    const { exit, compose } = await bring(files, ...args);
    const services = Object.entries(expected).map(([name, part]) => [name, { image: 'x', ...part }] as const);
    expect([exit, (compose as { services: object }).services]).toEqual([0, Object.fromEntries(services)]);
  });

  it('refuses a mode that compose does not give to the file of a config, and names the cure', async () => {
    const files = {
      'compose.yaml': `${service('configs: [{source: c, mode: 0755}]')}configs: {c: {file: ./c.sh}}\n`,
      'c.sh': 'a',
    };
    const { exit, stdout } = await bring(files);
    expect([exit, stdout]).toEqual([1, expect.stringContaining('configs.mode is refused on a host with compose')]);
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
