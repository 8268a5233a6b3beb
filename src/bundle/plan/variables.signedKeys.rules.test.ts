import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';
import { validateSignedKeys } from './variables.rules.ts';

describe('what a secret may decide on a host that requires signatures', () => {
  const manifest = {
    variables: { TAG: '1.2' },
    secrets: ['S', 'TAG'].map((name) => ({ var: name, path: 'p', field: 'f' })),
  } as unknown as Manifest;
  const secretTops = 'secrets: {s: {environment: S}}\nconfigs: {c: {content: "x${S}"}, signed: {content: "${TAG}"}}';
  const faultsOf = (service: string, top = '') => {
    const parsed = parseComposeFile('compose.yaml', `services: {web: {${service}}}\n${top}`);
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return (validateSignedKeys(composeProjectOf([parsed.file]), manifest)?.faults ?? []).map(({ text }) => text);
  };

  it.each([
    'image: "app:${TAG}", environment: {A: "${S}", B: "x${S}y"}, labels: {a: "${S}"}, hostname: "${S}"',
    'image: a, command: [server, --password, "${S}"]',
    'image: a, command: [server, "$S", "${S:?missing}"]',
    'image: a, entrypoint: [/bin/server], command: ["${S}"]',
    'image: a, command: [tini, --, server, "${S}"]',
    'image: a, entrypoint: [/docker-entrypoint.sh], command: [redis-server, --requirepass, "${S}"]',
    'image: a, entrypoint: "/bin/server run", command: [--token, "${S}"]',
    'image: a, command: [env, A=1, server, "${S}"]',
    'image: a, command: [gosu, postgres, server, "${S}"]',
    'image: a, command: [python3, app.py, --token, "${S}"]',
    'image: a, command: [sh, -c, "server $$S"], environment: {S: "${S}"}',
    'image: a, healthcheck: {test: [CMD, probe, "${S}"]}',
    'image: a, command: [publish, "${S}"]',
    'image: a, command: [server, -database, "${S}", -rule, "${S}"]',
    'image: a, healthcheck: {test: [CMD, psql, -U, "${S}", -l]}',
  ])('%s is allowed', (service) => {
    expect(faultsOf(service)).toEqual([]);
  });

  it.each<readonly [string, string]>([
    ['image: "${S}"', 'image'],
    ['image: "app:${S:-1}"', 'image'],
    ['image: "app:${TAG:-${S}}"', 'image'],
    ['image: a, entrypoint: ["${S}"]', 'entrypoint'],
    ['image: a, read_only: "${S}"', 'read_only'],
    ['image: a, healthcheck: {test: [CMD, probe], disable: "${S}"}', 'healthcheck'],
    ['image: a, entrypoint: [server, "${S}"]', 'entrypoint'],
    ['image: a, command: ["${S}"]', 'command'],
    ['image: a, command: "server ${S}"', 'command'],
    ['image: a, command: [server, "--password=${S}"]', 'command'],
    ['image: a, command: [server, "${S}${S}"]', 'command'],
    ['image: a, command: [sh, -c, "server ${S}"]', 'command'],
    ['image: a, command: [sh, -c, "${S}"]', 'command'],
    ['image: a, command: [/bin/sh, "${S}"]', 'command'],
    ['image: a, entrypoint: [sh, -ec], command: ["${S}"]', 'command'],
    ['image: a, command: [env, sh, -c, "${S}"]', 'command'],
    ['image: a, command: [tini, --, "${S}"]', 'command'],
    ['image: a, command: [gosu, postgres, "${S}"]', 'command'],
    ['image: a, command: [env, A=1, "${S}"]', 'command'],
    ['image: a, command: [python3, -c, "${S}"]', 'command'],
    ['image: a, command: [node, "${S}"]', 'command'],
    ['image: a, command: [node, -r, x, -e, "${S}"]', 'command'],
    ...[
      'mksh',
      'fish',
      'csh',
      'rbash',
      'pwsh',
      'nu',
      'bash-5.2',
      'bash.static',
      '/bin/bash5',
      'SH',
      'watch',
      'script',
    ].map((shell) => [`image: a, command: [${shell}, -x, "\${S}"]`, 'command'] as const),
    ...[
      '/docker-entrypoint.sh',
      '/entrypoint',
      '/init',
      'setsid',
      'stdbuf',
      'sudo',
      '[taskset, "1"]',
      '[su-exec, app]',
    ].map(
      (wrapper) =>
        [
          `image: a, entrypoint: ${wrapper.startsWith('[') ? wrapper : `[${wrapper}]`}, command: ["\${S}"]`,
          'command',
        ] as const,
    ),
    ...['mawk', 'tclsh', 'R', 'julia', 'python3.12', 'node20'].map(
      (name) => [`image: a, command: [${name}, "\${S}"]`, 'command'] as const,
    ),
    ...['-c', '-qc', '-e', '--eval', '--command', '-ex'].map(
      (option) => [`image: a, command: [server, ${option}, "\${S}"]`, 'command'] as const,
    ),
    ['image: a, entrypoint: \'s\\h\', command: [-c, "${S}"]', 'command'],
    ['image: a, entrypoint: "sh -c", command: ["${S}"]', 'command'],
    ['image: a, healthcheck: {test: [CMD, mksh, -c, "${S}"]}', 'healthcheck'],
    ['image: a, healthcheck: {test: "probe ${S}"}', 'healthcheck'],
    ['image: a, healthcheck: {test: [CMD-SHELL, "${S}"]}', 'healthcheck'],
    ['image: a, healthcheck: {test: [CMD, "${S}"]}', 'healthcheck'],
    ['image: a, volumes: ["${S}:/x"]', 'volumes'],
    ['image: a, volumes: [{type: bind, source: "${S}", target: /x}]', 'volumes'],
    ['image: a, devices: ["${S}"]', 'devices'],
    ['image: a, cap_add: ["${S}"]', 'cap_add'],
    ['image: a, user: "${S}"', 'user'],
    ['image: a, working_dir: "${S}"', 'working_dir'],
    ['image: a, post_start: [{command: [server, "${S}"]}]', 'post_start'],
    ['image: a, deploy: {resources: {reservations: {devices: [{driver: "${S}"}]}}}', 'deploy'],
  ])('%s is refused', (service, key) => {
    expect(faultsOf(service)).toEqual([
      `service web: ${key} is decided by the secret S, which nobody signs (compose.yaml:1)`,
    ]);
  });

  it.each<readonly [string, string]>([
    ['entrypoint: [/ep], secrets: [{source: s, target: /ep, mode: 0755}]', 'entrypoint runs /ep'],
    ['command: [/run/secrets/s], secrets: [s]', 'command runs /run/secrets/s'],
    ['command: [sh, /run/secrets/s], secrets: [s]', 'command runs /run/secrets/s'],
    ['command: [python3, /c], configs: [{source: c, target: /c}]', 'command runs /c'],
    ['entrypoint: [/docker-entrypoint.sh], command: [/c], configs: [c]', 'command runs /c'],
    [
      'healthcheck: {test: [CMD, /run/secrets/up]}, secrets: [{source: s, target: up}]',
      'healthcheck runs /run/secrets/up',
    ],
  ])('is not the content of a program or script: %s', (service, what) => {
    expect(faultsOf(`image: a, ${service}`, secretTops)).toEqual([
      `service web: ${what}, whose content is the secret S, which nobody signs (compose.yaml:1)`,
    ]);
  });

  it.each([
    'command: [server, -c, /etc/server.conf], configs: [{source: c, target: /etc/server.conf}]',
    'command: [sh, -c, "server $$(cat /run/secrets/s)"], secrets: [s]',
    'command: [/signed], configs: [{source: signed, target: /signed}]',
  ])('may be the content of a file that is read: %s', (service) => {
    expect(faultsOf(`image: a, ${service}`, secretTops)).toEqual([]);
  });

  it.each([
    ['volumes: {data: {driver_opts: {device: "${S}"}}}', 'volume data'],
    ['networks: {default: {internal: "${S}"}}', 'network default'],
    ['networks: {n: {driver_opts: {com.docker.network.bridge.enable_icc: "${S}"}}}', 'network n'],
  ])('is not a part of %s', (top, what) => {
    expect(faultsOf('image: a', top)).toEqual([
      `${what}: it is decided by the secret S, which nobody signs (compose.yaml:2)`,
    ]);
  });
});
