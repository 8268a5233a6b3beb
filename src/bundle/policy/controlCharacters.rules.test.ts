import { refusalsOf, serviceWith } from '../../../fixtures/suites/corpus/bundleRefusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { directoriesOf } from '../archive/archiveEntries.rules.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { validateComposePolicy } from './composePolicy.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const refusalsOfLine = async (line: string) => refusalsOf({ compose: serviceWith(line) });
const refusalsOfTop = async (text: string) => refusalsOf({ compose: `services: {web: {image: app:1}}\n${text}\n` });
const held = 'holds a control character';
const named = 'has a key with a control character';

/** Findings of the control characters alone; a value may have more faults. */
const controlFindings = (refusals: { code: string; detail: string }[]) =>
  refusals
    .flatMap(({ code, detail }) => (code === 'COMPOSE_REFUSED' ? detail.split('; ') : []))
    .filter((finding) => finding.includes(' control character '));

describe('control characters from YAML escapes (spec §12.2)', () => {
  it.each([
    ['volumes: ["./conf/a\\0/../app.conf\\0/../../app.env:/t"]', `volumes ${held}`],
    ['hostname: "a\\nb"', `hostname ${held}`],
    ['user: "1000\\t"', `user ${held}`],
    ['working_dir: "/a\\x7fb"', `working_dir ${held}`],
    ['mem_limit: "1g\\x85"', `mem_limit ${held}`],
    ['networks: {n: {ipv4_address: "10.0.0.2\\n"}}', `networks.n.ipv4_address ${held}`],
    ['labels: {"a\\nb": c}', `labels ${named}`],
    ['environment: {"A\\x01": b}', `environment ${named}`],
    ['environment: ["A\\x1b=b"]', `environment ${held}`],
    ['environment: {A: "b\\0"}', `environment.A ${held}`],
    ...['\\0', '\\x08', '\\x0b', '\\x0c', '\\x0e', '\\x1f', '\\x7f', '\\x9f'].map((one) => [
      `command: ["a${one}"]`,
      `command ${held}`,
    ]),
    ['healthcheck: {test: "a\\e"}', `healthcheck.test ${held}`],
    ['healthcheck: {interval: "1s\\n"}', `healthcheck.interval ${held}`],
    ['dns_search: ["a\\u2028b"]', `dns_search ${held}`],
    ['dns_search: ["a\\u2029b"]', `dns_search ${held}`],
    ['hostname: "\\ufeffa"', `hostname ${held}`],
    ['x-a: {"b\\0": c}', `x-a ${named}`],
    ['x-a: "b\\0"', `x-a ${held}`],
    ['storage_opt: {size: "1\\n"}', `storage_opt.size ${held}`],
    ['deploy: {labels: {a: "\\0"}}', `deploy.labels.a ${held}`],
    ['logging: {options: {labels: "a\\n"}}', `logging.options.labels ${held}`],
    ['post_start: [{working_dir: "a\\n"}]', `post_start.working_dir ${held}`],
    ['ulimits: {command: {hard: "1\\n"}}', `ulimits.command.hard ${held}`],
  ])('are refused in a service: %s', async (line, finding) => {
    expect(controlFindings(await refusalsOfLine(line))).toMatchObject([`service web: ${finding} (compose.yaml:5)`]);
  });

  it('are refused as halves of a character', async () => {
    expect((await refusalsOfLine('hostname: "\\ud83d\\ude00"')).map(({ code }) => code)).toMatchObject([
      'COMPOSE_REFUSED',
    ]);
  });

  it.each([
    ['volumes: {data: {labels: {"a\\tb": c}}}', `volume data: labels ${named}`],
    ['volumes: {data: {driver: "a\\n"}}', `volume data: driver ${held}`],
    ['volumes: {"a\\nb": }', `file: volumes ${named}`],
    ['configs: {c: {content: "a\\0"}}', `config c: content ${held}`],
    ['secrets: {c: {name: "a\\n"}}', `secret c: name ${held}`],
    ['name: "deployd-eu-1\\n"', `file: name ${held}`],
    ['version: ["a\\n"]', `file: version ${held}`],
    ['"a\\n": {}', `file: ${named}`],
    ['x-a: "b\\0"', `file: x-a ${held}`],
    ['x-a: {"b\\0": "c\\0"}', `file: x-a ${named}`, `file: x-a.b\ufffd ${held}`],
  ])('are refused at the top level: %s', async (line, ...findings) => {
    const expected = findings.map((finding) => `${finding} (compose.yaml:2)`);
    expect(controlFindings(await refusalsOfTop(line))).toMatchObject(expected);
  });

  it.each([
    'command: ["sh", "-c", "a\\n\\tb\\r\\n"]',
    'command: |\n      a\n      b',
    'environment: {A: "b\\n\\tc"}',
    'environment: ["A=b\\nc"]',
    'healthcheck: {test: "a\\nb"}',
    'labels: {a: "b\\nc"}',
    'post_start: [{command: "a\\nb", environment: {A: "b\\n"}}]',
    'x-note: "a\\nb\\tc"',
    'deploy: {labels: {a: "b\\nc"}, x-a: {b: ["c\\n"]}}',
    'pre_stop: [{command: ["a\\nb"]}]\n    pre_start: [{command: "\\t"}]\n    entrypoint: "a\\n"',
  ])('are allowed in free text if they are line ends or tabs: %s', async (line) => {
    expect(await refusalsOfLine(line)).toMatchObject([]);
  });

  it.each([
    'configs: {c: {content: "a\\r\\n\\tb \\u2028\\n"}}',
    'secrets: {c: {content: "a\\n"}}\nnetworks: {a: {labels: {b: "\\t"}}}\nvolumes: {a: {labels: ["b=\\n"]}}',
    'x-a: {b: "c\\n"}\nx-b: ["\\t"]',
  ])('are allowed in content and labels if they are line ends or tabs: %s', async (text) => {
    expect(await refusalsOfTop(text)).toMatchObject([]);
  });
});

const manifest = { agent: { allow_privileged: false }, compose: ['compose.yaml', 'conf/more.yaml'] } as Manifest;
const releaseFiles = new Set([
  'compose.yaml',
  'conf',
  'conf/a.conf',
  'conf/more.yaml',
  'conf/e\u0301.conf',
  'bad.env',
  'bad.labels',
  'gone.env',
]);
const texts = new Map([
  ['bad.env', 'no assignment\n'],
  ['bad.labels', 'A=`1`\n'],
]);
const outside = { containers: new Set(['db']), networks: new Set<string>(), volumes: new Set<string>() };

function curesOf(text: string): string[] {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) return parsed.problems.map(({ cure }) => cure);
  const context = { manifest, projectName: 'deployd-eu-1', releaseFiles, texts, outside };
  const refusals = validateComposePolicy(composeProjectOf([parsed.file]), context);
  return refusals.flatMap(({ faults = [] }) => faults.map(({ cure }) => cure));
}

const service = (keys: string) => `services: {web: {image: a, ${keys}}}\n`;
const flag = 'set agent.allow_privileged in manifest.json';
const permit = (entry: string) => `permit it by policy: {permit: {${entry}}} in config.yaml of the host`;
const volumeOf = (path: string, name: string) =>
  [
    `volumes: ["${path}:/x"]`,
    `put it into the bundle, or write ${name} for it and name ${name} under the top-level volumes`,
  ] as const;

it('the directories of the bundle are what the tables take them for', () => {
  expect([...directoriesOf(releaseFiles)]).toContain('conf');
});

it.each<readonly [string, string]>([
  ['build: .', 'build it beforehand and name it by image'],
  ['models: {}', 'run it as a service, or give its address as a variable'],
  ['provider: {}', 'run it as a service with an image'],
  ['extends: {service: web, file: x}', 'put both into one file'],
  ['extends: none', 'name another service of its file'],
  ['nonsense: 1', 'leave it out, the nearest known key is configs'],
  ['comand: a', 'leave it out, the nearest known key is command'],
  ['healthcheck: {tst: a}', 'leave it out, the nearest known key is test'],
  ['expose: ["1-3000"]', 'make it smaller, or divide the bundle'],
  ['restart: allways', 'write no, always, unless-stopped or on-failure[:N]'],
  ['restart: on-failure:x', 'write no, always, unless-stopped or on-failure[:N]'],
  ['restart: false', 'put it in quotes'],
  ['user: 1000', 'put it in quotes'],
  ['user: "1000:"', 'write USER or USER:GROUP'],
  ['hostname: 5', 'put it in quotes'],
  ['working_dir: 0x1f', 'put it in quotes'],
  ['command: 5', 'put it in quotes'],
  ['entrypoint: [sh, true]', 'put it in quotes'],
  ['dns: [5]', 'put it in quotes'],
  ['stop_signal: 9', 'put it in quotes'],
  ['stop_signal: SIGFOO', 'write a signal, such as SIGTERM'],
  ['cpuset: foo', 'write processors, such as 0-2,4'],
  ['extra_hosts: [a]', 'write NAME:ADDRESS'],
  ['ports: ["70000:80"]', 'write ports up to 65535'],
  ['expose: [65536]', 'write ports up to 65535'],
  [
    'depends_on: {db: {condition: healthy}}',
    'write service_started, service_healthy or service_completed_successfully',
  ],
  ['depends_on: [db, db]', 'name each service once'],
  ['healthcheck: {test: [echo, a]}', 'begin it with CMD, CMD-SHELL or NONE'],
  ['healthcheck: {test: a, retries: -1}', 'write a number of 0 or more'],
  ['tty: x', 'write true or false'],
  ['cpus: x', 'write a number'],
  ['tty: []', 'write it as text'],
  ['dns: {}', 'write it as text or a list'],
  ['environment: a', 'write it as a list or a mapping'],
  ['profiles: [a b]', 'write a literal name of letters, digits, ".", "_" and "-"'],
  ['networks: {"a b": }', 'use letters, digits, ".", "_" and "-"'],
  ['extra_hosts: {"": a}', 'use letters, digits, ".", "_" and "-"'],
  ['links: [a b]', 'write SERVICE or SERVICE:ALIAS'],
  ['pull_policy: x', 'write always, never, missing, if_not_present, daily, weekly or every_<duration>'],
  ['environment: ["$A=1"]', 'write the name out'],
  ['labels: ["$A=1"]', 'write the name out'],
  ['labels: {deployd.a: x}', 'give it another name'],
  ['volumes: ["./conf/\u00e9.conf:/x:ro"]', 'write its name in the same form in both'],
  ['env_file: conf/\u00e9.conf', 'write its name in the same form in both'],
  ['label_file: bad.labels', 'write its labels under labels'],
  ['label_file: gone.env', 'write its labels under labels'],
  ['env_file: bad.env', 'write each of its lines as NAME=VALUE and a dollar sign as $$'],
  ['env_file: gone.env', 'write each of its lines as NAME=VALUE and a dollar sign as $$'],
  ['env_file: [{path: bad.env, format: x}]', 'write raw, or left out'],
  ['env_file: none', 'put it into the bundle'],
  ['env_file: .env', 'name the variables one by one under environment'],
  ['env_file: conf', 'name a file in it'],
  ['env_file: .', 'mount what is needed of it, such as ./conf'],
  ['env_file: /etc/x', 'put it into the bundle and name it by a path that starts with "./"'],
  ['env_file: "$A"', 'write the path out'],
  ['ports: ["$A-2:1-2"]', 'write both ports'],
  ['stop_grace_period: x', 'write it like 1m30s'],
  ['stop_grace_period: -1s', 'write at most 300s'],
  ['stop_grace_period: 301s', 'write at most 300s'],
  ['shm_size: x', 'write it like 512m or 1.5g'],
  ['scale: 1001', 'ask for fewer'],
  ['container_name: a b', 'use letters, digits, ".", "_" and "-", and a letter or digit first'],
  ['container_name: db', 'give it another name, or leave the key out'],
  ['container_name: x, scale: 2', 'leave the key out'],
  ['volumes: [relative]', 'write SOURCE:/TARGET[:MODE] or /TARGET'],
  ['volumes: ["v:/x"]', 'use a longer name'],
  ['volumes: ["-a:/x"]', 'write the name of a volume, or a path that starts with "./"'],
  ['volumes: ["data:/x:xx"]', 'write ro or rw, or leave it out'],
  ['volumes: [{type: x, target: /x}]', 'write bind, volume or tmpfs'],
  ['volumes: [{type: volume}]', 'add target'],
  ['volumes: ["./conf:/x"]', 'mount the other files alone'],
  ['volumes: [".:/x"]', 'mount what is needed of it, such as ./conf'],
  ['volumes: ["./.env:/x"]', 'name the variables one by one under environment'],
  volumeOf('./none', 'none'),
  volumeOf('./a/none//', 'none'),
  volumeOf('./-', 'data'),
  volumeOf('./x.y/a b.c', 'b.c'),
  ['command: "${A"', 'write $$ for a dollar sign, and fewer variables on a line'],
])('%s: %s', (keys, cure) => {
  expect(curesOf(service(keys))).toContain(cure);
});

it.each<[string, string]>([
  ['cap_add: [NET_ADMIN]', permit('capabilities: ["NET_ADMIN"]')],
  ['network_mode: host', permit('host_network: ["web"]')],
  ['pid: host', permit('host_pid: ["web"]')],
  ['ipc: host', permit('host_ipc: ["web"]')],
  ['privileged: true', permit('privileged: ["web"]')],
  ['use_api_socket: true', permit('engine_socket: ["web"]')],
  ['gpus: all', permit('gpus: ["web"]')],
  ['devices: [/dev/a]', permit('devices: ["/dev/a"]')],
  ['security_opt: ["apparmor:x"]', permit('security_opt: ["apparmor:x"]')],
  ['sysctls: [kernel.x=1]', permit('sysctls: ["kernel.x"]')],
  ['group_add: [docker]', permit('groups: ["docker"]')],
  ['user: "1:5"', permit('groups: ["5"]')],
  ['volumes: ["/srv/a:/x"]', permit('binds: ["/srv/a"]')],
  ['volumes: ["/srv/a:/x:ro"]', permit('binds: ["/srv/a:ro"]')],
  ['volumes: ["/run/docker.sock:/x"]', permit('engine_socket: ["web"]')],
  ['volumes: ["~/a:/x"]', `leave it out, or ${flag}`],
  ['volumes: ["$A:/x"]', `write it out, or ${flag}`],
  ['cap_add: ["$A"]', `write it out, or ${flag}`],
  ['user: "$A"', `write it out, or ${flag}`],
  ['uts: host', `leave it out, or ${flag}`],
])('%s: %s', (keys, cure) => {
  expect(curesOf(service(keys))).toEqual([cure]);
});

it.each<[string, string]>([
  ['include: [a]', 'name the file under compose in manifest.json'],
  ['jobs: {}', 'write it as a service without restart'],
  ['models: {}', 'run them as services'],
  ['name: A', 'write small letters, digits, "_" and "-"'],
  ['volumes: {"a b": }', 'use letters, digits, ".", "_" and "-"'],
  ['configs: {c: {driver: x}}', 'give it by file, content or environment'],
  ['configs: {c: {external: true}}', 'leave it out'],
  ['secrets: {c: {environment: "$A"}}', 'write the literal name of a variable'],
  ['networks: {n: {external: true}}', permit('networks: ["n"]')],
  ['networks: {n: {external: true, name: m}}', permit('networks: ["m"]')],
  ['networks: {n: {external: true, name: host}}', 'write network_mode: host, which a host can permit'],
  ['volumes: {v: {external: {name: w}}}', permit('volumes: ["w"]')],
  ['x: 1', 'leave it out, the nearest known key is jobs'],
])('%s: %s', (line, cure) => {
  expect(curesOf(`${service('tty: true')}${line}\n`)).toContain(cure);
});

it('files without a service, and names of several', () => {
  expect(curesOf('x-a: 1\n')).toEqual(['name the compose files in manifest.json']);
  expect(curesOf('services: {a: {container_name: xx}, b: {container_name: xx}}\n')).toEqual([
    'give each service its own name',
  ]);
  expect(curesOf(service(`x-long: "${'x'.repeat(140_000)}"`))).toContain('put it into a file of the bundle');
  expect(curesOf(service(`command: "${'x '.repeat(40_000)}"`))).toContain('write it as a list');
  const keys = Array.from({ length: 6_000 }, (_, n) => `k${n}: 1`).join(', ');
  expect(curesOf(service(`x-many: {${keys}}`))).toContain('divide it');
  expect(curesOf(service('x-a: "\\u0007"'))).toEqual(['write it without']);
});
