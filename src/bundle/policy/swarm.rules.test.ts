import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { validateComposePolicy, validateModelPolicy } from './composePolicy.rules.ts';
import { anyHost } from './policyHost.rules.ts';
import { fileGaps, maxConfigBytes, maxSecretBytes, serviceGaps } from './swarm.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const manifest = { agent: { allow_privileged: true }, compose: ['compose.yaml'] } as Manifest;
const sections = 'networks: {n: }\nvolumes: {data: }\n';
const serviceWith = (line: string) =>
  `services:\n  db: {image: app:1}\n  web:\n    image: app:1\n    ${line}\n${sections}`;
const fileWith = (line: string) => `services: {web: {image: app:1}}\n${line}\n`;

/** The faults that a swarm refuses in a file, with every flag of the bundle. */
function faultsOf(compose: string, { projectName = 'deployd-eu-1', size = 1 } = {}) {
  const parsed = parseComposeFile('compose.yaml', compose);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join());
  const files = ['compose.yaml', 'conf/web.conf'];
  const facts = {
    manifest,
    projectName,
    releaseFiles: new Set(files),
    fileSizes: new Map(files.map((file) => [file, size])),
  };
  const judged = { ...facts, host: { ...anyHost, orchestrator: 'swarm' as const } };
  const project = composeProjectOf([parsed.file]);
  const onCompose = validateComposePolicy(project, facts);
  return {
    swarm: validateComposePolicy(project, judged).flatMap(({ faults = [] }) => faults.map(({ text }) => text)),
    compose: onCompose.flatMap(({ faults = [] }) => faults.map(({ text }) => text)),
  };
}

const rows = [
  ...serviceGaps.map(({ key, example }) => ({ key, example, compose: serviceWith(example) })),
  ...fileGaps.map(({ key, example }) => ({ key, example, compose: fileWith(example) })),
];

it.each(rows)('a swarm alone refuses $key, by its name: $example', ({ key, compose }) => {
  const faults = faultsOf(compose);
  expect(faults.swarm.filter((text) => !faults.compose.includes(text))).toEqual([
    expect.stringContaining(`${key} is refused in a swarm: `) as string,
  ]);
});

it.each([
  'deploy: {mode: global, placement: {constraints: [node.role == worker]}}',
  'deploy: {replicas: 3, update_config: {order: start-first}, resources: {limits: {cpus: "1", memory: 1g}}}',
  'ports: [{target: 80, published: 80, mode: host}, "80:80", "81", "${P:-82}:82", "90-92:90-92", "53:53/udp"]',
  'volumes: ["./conf/web.conf:/etc/web.conf:ro", "data:/data", "/anonymous"]',
  'depends_on: {db: {condition: service_started, required: false}}',
  'depends_on: [db]',
  'privileged: false',
  'tmpfs: [/run]',
])('a swarm allows what stacks can say: %s', (line) => {
  expect(faultsOf(serviceWith(line)).swarm).toEqual([]);
});

it.each([
  ['127.0.0.1:80:80', 'ports[].host_ip'],
  ['[::1]:80:80/udp', 'ports[].host_ip'],
  ['${IP}:80:80', 'ports[].host_ip'],
  ['8000-8010:80', 'ports[].published'],
])('a swarm does not publish %s', (port, key) => {
  expect(faultsOf(serviceWith(`ports: ["${port}"]`)).swarm).toEqual([expect.stringContaining(key) as string]);
});

it('a service is called in the swarm by a name that DNS knows', () => {
  const compose = serviceWith('init: true');
  const [longest, longer] = [59, 60].map((length) => `p${'x'.repeat(length - 1)}`);
  expect(faultsOf(compose, { projectName: longest! }).swarm).toEqual([]);
  expect(faultsOf(compose, { projectName: longer! }).swarm).toEqual([
    `service web: its name is refused in a swarm: after the project's and "_" it ends beyond 63 characters (compose.yaml:3)`,
  ]);
});

it.each([
  [serviceWith('volumes: ["./conf/web.conf:/etc/web.conf:ro"]'), maxConfigBytes],
  [fileWith('configs: {a: {file: ./conf/web.conf}}'), maxConfigBytes],
  [fileWith('secrets: {a: {file: ./conf/web.conf}}'), maxSecretBytes],
])('a file that the swarm keeps is neither empty nor too large: %j', (compose, most) => {
  expect([1, most].flatMap((size) => faultsOf(compose, { size }).swarm)).toEqual([]);
  expect(faultsOf(compose, { size: 0 }).swarm).toEqual([expect.stringContaining('is empty') as string]);
  expect(faultsOf(compose, { size: most + 1 }).swarm).toEqual([
    expect.stringContaining(`has more than ${most} bytes, which a swarm does not keep`) as string,
  ]);
});

it.each([
  ['a', []],
  ['', ['file: configs.*.content is empty, which a swarm does not keep (compose.yaml:2)']],
])('a text that the swarm keeps is not empty: %j', (content, faults) => {
  expect(faultsOf(fileWith(`configs: {a: {content: "${content}"}}`)).swarm).toEqual(faults);
});

it('says of the rendered model what is refused, and no value of it', () => {
  const model = {
    services: { web: { image: 'app:1', mac_address: 'hunter2', ports: [{ target: 80, host_ip: 'hunter2' }] } },
  };
  const context = {
    ...{
      manifest,
      projectName: 'deployd-eu-1',
      releaseFiles: new Set<string>(),
      openedPaths: { all: [], byCompose: [] },
    },
    host: { ...anyHost, orchestrator: 'swarm' as const },
  };
  const [refusal, ...others] = validateModelPolicy(model, '/srv/a', context);
  expect(others).toEqual([]);
  expect(refusal!.code).toBe('COMPOSE_REFUSED');
  expect(refusal!.faults!.map(({ text }) => text)).toEqual([
    'service web: mac_address is refused in a swarm: a swarm leaves it out, as compose renders it',
    'service web: ports[] is refused in a swarm: a swarm publishes on every address of its nodes, as compose renders it',
  ]);
});
