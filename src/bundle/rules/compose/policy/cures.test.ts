import type { Manifest } from '../../../../../machines/types.ts';
import { directoriesOf } from '../document/bundlePath.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import { validateComposePolicy } from './composePolicy.ts';

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
  return validateComposePolicy([parsed.file], context).flatMap(({ faults = [] }) => faults.map(({ cure }) => cure));
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
    'give each a name of its own',
  ]);
  expect(curesOf(service(`x-long: "${'x'.repeat(140_000)}"`))).toContain('put it into a file of the bundle');
  expect(curesOf(service(`command: "${'x '.repeat(40_000)}"`))).toContain('write it as a list');
  const keys = Array.from({ length: 6_000 }, (_, n) => `k${n}: 1`).join(', ');
  expect(curesOf(service(`x-many: {${keys}}`))).toContain('divide it');
  expect(curesOf(service('x-a: "\\u0007"'))).toEqual(['write it without']);
});
