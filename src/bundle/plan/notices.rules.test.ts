import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { anyHost } from '../policy/policyHost.rules.ts';
import type { EngineMeans } from './bundleToStart.rules.ts';
import { executedFiles } from './hostFaults.rules.ts';
import { noHost, planOf } from './plan.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const manifest: Manifest = {
  ...{ schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, production: false, compose: ['compose.yaml'] },
  ...{ agent: { allow_privileged: false, allow_rollback: false }, disk_need_bytes: null },
  ...{ profiles: [], registries: [], variables: {}, secrets: [] },
};
const means: EngineMeans = {
  ...{ isPodman: false, apiVersion: '1.51', cpus: 2, memoryBytes: 2 ** 31, architecture: 'x86_64', hasIpv6Pool: false },
  ...{ networks: [], names: { networks: new Set<string>(), volumes: new Set<string>() }, takenPorts: [] },
};

/** The content of `conf/run.sh` and `conf/prog` in a bundle. */
interface Content {
  text?: string;
  isExecutable?: boolean;
  onHost?: boolean;
}

function noticesOf(
  compose: string,
  { text = '#!/bin/sh\n', isExecutable = true, onHost = false }: Content = {},
): string[] {
  const parsed = parseComposeFile('compose.yaml', compose);
  if (!('file' in parsed)) throw new Error(JSON.stringify(parsed));
  const head = { text, isExecutable };
  const bundle = {
    ...{ manifest, sha: null, version: '1', variables: {}, refusals: [] },
    ...{ digests: new Map(), texts: new Map(), project: composeProjectOf([parsed.file]) },
    releaseFiles: new Set(['compose.yaml', 'conf', 'conf/run.sh', 'conf/prog']),
  };
  const heads = new Map(
    executedFiles(bundle, ['conf/run.sh', 'conf/prog', 'compose.yaml']).map((path) => [path, head]),
  );
  const engine = {
    ...{ volumes: [], orphanedVolumes: [], services: new Set<string>(), headroomBytes: 0, filesystems: [], means },
    policyFacts: {
      outside: { containers: new Set<string>(), networks: new Set<string>(), volumes: new Set<string>() },
      mountsSubpaths: true,
    },
  };
  const host = { ...noHost, policyHost: anyHost, ...(onHost && { engine: { known: engine } }) };
  return planOf({ ...bundle, heads }, host).notices.map((notice) => notice.text);
}

const web = (keys: string, image = 'app:1') =>
  `services: {web: {image: ${image}, volumes: ['./conf:/app:ro'], ${keys}}}\n`;
const entry = web('entrypoint: [/app/run.sh]');
const elf = (machine: number) => `\x7fELF\x02\x01${'\0'.repeat(12)}${String.fromCharCode(machine)}\0`;
const crlf = '#!/bin/sh\r\nset -e\r\n';
const inShell = 'has lines that end with CR LF, and the shell takes the CR for a part of each command';

describe('a plan notices of a file that a service runs', () => {
  it.each<[string, string, Content]>([
    [
      'entrypoint /app/run.sh begins with a line that ends with CR LF, so that its interpreter is not found',
      entry,
      { text: crlf },
    ],
    ['entrypoint /app/run.sh is not executable', entry, { isExecutable: false }],
    [
      'entrypoint /app/run.sh is not a program and names no interpreter (exec format error)',
      entry,
      { text: 'echo hi\n' },
    ],
    [
      'entrypoint /app/run.sh is not a program and names no interpreter (exec format error)',
      entry,
      { text: '!/bin/sh\n' },
    ],
    [
      'entrypoint /app/run.sh begins with a byte order mark, which hides its interpreter',
      entry,
      { text: '\u00ef\u00bb\u00bf#!/bin/sh\n' },
    ],
    ['entrypoint /app/run.sh is a program for another system (exec format error)', entry, { text: 'MZ\u0090' }],
    [
      'entrypoint /app/run.sh is a program for aarch64, not for x86_64 (exec format error)',
      entry,
      { text: elf(183), onHost: true },
    ],
    [
      'entrypoint /app/run.sh is a program for x86_64, not for aarch64 (exec format error)',
      web('platform: linux/arm64, entrypoint: /app/run.sh'),
      { text: elf(62) },
    ],
    ['entrypoint /app/run.sh is not executable', web('entrypoint: /app/run.sh --x'), { isExecutable: false }],
    ['entrypoint /app/run.sh is not executable', web('entrypoint: [tini, "--", /app/run.sh]'), { isExecutable: false }],
    ['command /app/run.sh is not executable', web('command: /app/run.sh'), { isExecutable: false }],
    [
      'command /app/run.sh begins with a line that ends with CR LF, so that its interpreter is not found',
      web('command: [/app/run.sh]'),
      { text: crlf },
    ],
    [`command /app/run.sh ${inShell}`, web('command: [sh, -e, /app/run.sh]'), { text: crlf, isExecutable: false }],
    [
      'command /app/run.sh is not executable',
      web('command: [bash, -c, "sleep 1 && exec /app/run.sh"]'),
      { isExecutable: false },
    ],
    [`command /app/run.sh ${inShell}`, web('command: sh -c "bash /app/run.sh; nginx"'), { text: crlf }],
    ['command ./run.sh is not executable', web('working_dir: /app, command: [./run.sh]'), { isExecutable: false }],
    [
      'healthcheck.test /app/run.sh is not executable',
      web('healthcheck: {test: [CMD, /app/run.sh]}'),
      { isExecutable: false },
    ],
    [
      'healthcheck.test /app/run.sh is not executable',
      web('healthcheck: {test: "/app/run.sh || exit 1"}'),
      { isExecutable: false },
    ],
  ])('%s', (text, compose, content) => {
    expect(noticesOf(compose, content)).toEqual([`service web: ${text} (compose.yaml:1)`]);
  });

  it.each<[string, string, Content]>([
    [
      'the script /docker-entrypoint-initdb.d/run.sh begins with a line that ends with CR LF, so that its interpreter is not found',
      'postgres:16',
      { text: crlf },
    ],
    [`the script /docker-entrypoint-initdb.d/run.sh ${inShell}`, 'mysql:8', { text: crlf, isExecutable: false }],
    [
      'the script /docker-entrypoint.d/run.sh is not executable, and the image leaves it out',
      'nginx:1.27',
      { isExecutable: false },
    ],
  ])('%s', (text, image, content) => {
    const directory = image.startsWith('nginx') ? '/docker-entrypoint.d' : '/docker-entrypoint-initdb.d';
    const compose = `services: {web: {image: "${image}", volumes: ['./conf:${directory}:ro']}}\n`;
    expect(noticesOf(compose, content)).toEqual([`service web: ${text}`]);
  });

  it.each<[string, string, Content]>([
    ['a script as it should be', entry, {}],
    ['a script that a shell reads', web('command: [sh, /app/run.sh]'), { text: 'echo hi\n', isExecutable: false }],
    [
      'a script that is made executable',
      web('command: sh -c "chmod +x /app/run.sh && /app/run.sh"'),
      { isExecutable: false },
    ],
    ['a program that the image may read', web('command: [/app/prog]'), { text: 'print(1)\n', isExecutable: false }],
    [
      'a script of another language that the image may read',
      web('command: [/app/prog]'),
      { text: '#!/usr/bin/env python\n', isExecutable: false },
    ],
    ['a program for this processor', entry, { text: elf(62), onHost: true }],
    ['a program where the processor is not known', entry, { text: elf(183) }],
    ['a file that is mounted and not run', web('command: [cat, /app/run.sh]'), { text: crlf, isExecutable: false }],
    ['a file of the image', web('entrypoint: [/bin/run.sh]'), { text: crlf }],
    [
      'a script that the database sources',
      "services: {web: {image: 'postgres:16', volumes: ['./conf:/docker-entrypoint-initdb.d:ro']}}\n",
      { isExecutable: false },
    ],
  ])('nothing of %s', (_title, compose, content) => {
    expect(noticesOf(compose, content)).toEqual([]);
  });
});

const waits = 'depends_on: {web: {condition: service_completed_successfully}}';

describe('a plan notices of a service', () => {
  it.each<[string, string, Content?]>([
    [
      'others wait until it has ended, and restart always starts it again each time',
      `services: {web: {image: a, restart: always}, app: {image: b, ${waits}}}\n`,
    ],
    [
      'its command ends, and restart unless-stopped starts it again for ever',
      web('restart: unless-stopped, command: [python, manage.py, migrate]'),
    ],
    [
      'its command ends, and restart always starts it again for ever',
      web('restart: always, command: sh -c "mkdir -p /x && chown 1 /x"'),
    ],
    ['is a job, and its command never ends', web('restart: "no", command: tail -f /dev/null')],
    [
      'is a job, since restart is "no", though it publishes ports: the apply waits until it has ended',
      web('restart: "no", ports: ["80:80"]'),
    ],
    [
      'mem_limit leaves no memory beside the heap of -Xmx512m (out of memory)',
      web('mem_limit: 512m, environment: {ES_JAVA_OPTS: "-Xms512m -Xmx512m"}'),
    ],
    [
      'mem_limit leaves no memory beside the heap of --max-old-space-size=1024 (out of memory)',
      web('mem_limit: 1g, command: [node, --max-old-space-size=1024, a.js]'),
    ],
    [
      'deploy.resources.limits.memory leaves no memory beside the heap of --maxmemory 1g (out of memory)',
      web('deploy: {resources: {limits: {memory: 512M}}}, command: redis-server --maxmemory 1gb'),
    ],
    ['platform linux/arm64 differs from this host (x86_64)', web('platform: linux/arm64'), { onHost: true }],
  ])('%s', (text, compose, content = {}) => {
    expect(noticesOf(compose, content)).toEqual([`service web: ${text} (compose.yaml:1)`]);
  });

  it('what its services reserve beyond the memory of the host', () => {
    const text = 'the services reserve 4.0 GiB of memory together, and this host has 2.0 GiB';
    expect(noticesOf(web('scale: 2, mem_reservation: 2g'), { onHost: true })).toEqual([text]);
  });

  it.each<[string, string, Content?]>([
    [
      'a job that is restarted when it fails',
      `services: {web: {image: a, restart: on-failure}, app: {image: b, ${waits}}}\n`,
    ],
    ['a migration before a server', web('restart: always, command: sh -c "python manage.py migrate && gunicorn app"')],
    ['a loop', web('restart: always, command: sh -c "while true; do echo hi; done"')],
    ['a service without a restart policy that ends', web('command: echo hi')],
    ['a server whose image has a healthcheck', web('restart: "no", ports: ["80:80"], healthcheck: {test: x}')],
    ['a heap below the limit', web('mem_limit: 1g, environment: ["JAVA_OPTS=-Xmx512m"]')],
    ['a heap without a limit', web('environment: ["JAVA_OPTS=-Xmx512m"]')],
    ['a platform of this host', web('platform: linux/amd64'), { onHost: true }],
  ])('nothing of %s', (_title, compose, content = {}) => {
    expect(noticesOf(compose, content)).toEqual([]);
  });
});
