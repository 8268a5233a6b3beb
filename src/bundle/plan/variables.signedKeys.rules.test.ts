import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';
import { validateSignedKeys } from './variables.rules.ts';

describe('what a secret may decide on a host that requires signatures', () => {
  const manifestFor = (...services: string[]) =>
    ({
      variables: { TAG: '1.2', DIR: '/usr/bin' },
      secrets: ['S', 'TAG', 'NODE_PATH'].map((name) => ({ var: name, path: 'p', field: 'f', argument_of: services })),
    }) as unknown as Manifest;
  const secretTops = 'secrets: {s: {environment: S}}\nconfigs: {c: {content: "x${S}"}, signed: {content: "${TAG}"}}';
  const refusalOf = (service: string, manifest: Manifest, top = '') => {
    const parsed = parseComposeFile('compose.yaml', `services: {web: {${service}}}\n${top}`);
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    const texts = new Map([['web.env', 'A=${S}\nNODE_OPTIONS="--title=${S}"\n']]);
    return validateSignedKeys({ project: composeProjectOf([parsed.file]), texts }, manifest)?.faults ?? [];
  };
  const faultsOf = (service: string, top = '') => refusalOf(service, manifestFor('web'), top).map(({ text }) => text);

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
    ['image: a, command: [psql, -U, "${S}", -c, "${S}"]', 'command'],
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
    ...['NODE_OPTIONS: "x ${S}"', 'LD_PRELOAD: "${S}"', 'PATH: "/bin:${S}"', 'NODE_PATH'].flatMap((entry) =>
      [`{${entry}}`, `["${entry.replace(': ', '=').replaceAll('"', '')}"]`].map(
        (environment) => [`image: a, environment: ${environment}`, 'environment'] as const,
      ),
    ),
    ['image: a, environment: ["${S}"]', 'environment'],
    ['image: a, environment: ["${S}_X=1"]', 'environment'],
    ['image: a, deploy: {resources: {reservations: {devices: [{driver: "${S}"}]}}}', 'deploy'],
  ])('%s is refused', (service, key) => {
    expect(faultsOf(service)).toEqual([
      `service web: ${key} is decided by the secret S, which nobody signs (compose.yaml:1)`.replace(
        'secret S',
        /NODE_PATH(?!:)/.test(service) ? 'secret NODE_PATH' : 'secret S',
      ),
    ]);
  });

  it('does not set a variable in an env file that loads code', () => {
    expect(faultsOf('image: a, env_file: web.env')).toEqual([
      'web.env: NODE_OPTIONS is decided by the secret S, which nobody signs',
    ]);
  });

  it.each(['command: [server, "${S}"]', 'healthcheck: {test: [CMD, probe, "${S}"]}'])(
    'is an argument only where the signed manifest names the service: %s',
    (service) => {
      for (const manifest of [manifestFor(), manifestFor('other')])
        expect(refusalOf(`image: a, ${service}`, manifest)).toEqual([
          {
            text: `service web: ${service.replace(/:.*/, '')} is decided by the secret S, which nobody signs (compose.yaml:1)`,
            cure: 'pass it by environment, and write $$VAR for it in a script; if the program does not run the argument, add web to argument_of of the secret in manifest.json',
          },
        ]);
      expect(refusalOf(`image: a, ${service}`, manifestFor('web'))).toEqual([]);
    },
  );

  it.each([
    ['secrets: [{source: s, target: /usr/bin/server}]', '/usr/bin/server'],
    ['secrets: [{source: s, target: ../../bin/sh}]', '/bin/sh'],
    ['secrets: [{source: s, target: "${DIR}/server"}]', '/usr/bin/server'],
    ['secrets: [{source: s, target: "${OTHER}"}]', '/run/secrets/${OTHER}'],
    ['secrets: [{source: s, mode: 0500}]', '/run/secrets/s'],
    ['secrets: [{source: s, target: /data/run, mode: "0755"}]', '/data/run'],
    ['configs: [{source: c, target: /lib/x86_64-linux-gnu/libc.so.6}]', '/lib/x86_64-linux-gnu/libc.so.6'],
    ['configs: [{source: c, target: /etc/ld.so.preload}]', '/etc/ld.so.preload'],
    ['configs: [{source: c, target: /etc/profile.d/x}]', '/etc/profile.d/x'],
    ['configs: [{source: c, target: /docker-entrypoint-initdb.d/init.sql}]', '/docker-entrypoint-initdb.d/init.sql'],
    ['configs: [{source: c, target: /docker-entrypoint}]', '/docker-entrypoint'],
    ['configs: [{source: c, target: /app/server.js}]', '/app/server.js'],
    ['configs: [{source: c, target: /app/node_modules/a/package.json}]', '/app/node_modules/a/package.json'],
    ['configs: [{source: c, target: /root/.bashrc}]', '/root/.bashrc'],
  ])('is not the content of a file where programs are: %s', (service, target) => {
    expect(faultsOf(`image: a, ${service}`, secretTops)).toEqual([
      `service web: ${target} may be a program, and its content is the secret S, which nobody signs (compose.yaml:1)`,
    ]);
  });

  it.each<readonly [string, string]>([
    ['entrypoint: [/ep], secrets: [{source: s, target: /ep}]', 'entrypoint runs /ep'],
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
    'secrets: [s, {source: s, target: key.js, mode: 0440}], configs: [{source: signed, target: /bin/sh, mode: 0755}]',
    ...['/etc/nginx/nginx.conf', '/var/lib/app/config.json', '/app/.env', '/etc/app/services/entrypoints.yml'].map(
      (target) => `configs: [{source: c, target: ${target}}]`,
    ),
  ])('may be the content of a file that is read: %s', (service) => {
    expect(faultsOf(`image: a, ${service}`, secretTops)).toEqual([]);
  });

  it.each([
    ['volumes: {data: {driver_opts: {device: "${S}"}}}', 'volume data'],
    ['networks: {default: {internal: "${S}"}}', 'network default'],
    ['configs: {c: {file: "./${S}"}}', 'config c'],
    ['networks: {n: {driver_opts: {com.docker.network.bridge.enable_icc: "${S}"}}}', 'network n'],
  ])('is not a part of %s', (top, what) => {
    expect(faultsOf('image: a', top)).toEqual([
      `${what}: it is decided by the secret S, which nobody signs (compose.yaml:2)`,
    ]);
  });
});
