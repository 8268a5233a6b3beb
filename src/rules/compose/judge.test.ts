import type { Manifest } from '../../../machines/words.ts';
import { parseComposeFile } from './file.ts';
import { sectionRows, yamlRows } from './file.table.ts';
import { judgeCompose } from './judge.ts';
import { mountRows } from './mount.table.ts';
import { serviceKeys } from './service.ts';
import { serviceRows, type Row } from './service.table.ts';

const manifest: Manifest = {
  schema: 1,
  name: 'shop',
  env: 'eu-1',
  version: '1',
  sequence: 1,
  production: false,
  agent: { allow_privileged: false, allow_rollback: false },
  compose: ['compose.yaml'],
  disk_need_bytes: null,
  secrets: [],
  registries: [],
};
const releaseFiles = new Set([
  'compose.yaml',
  'conf',
  'conf/app.conf',
  'conf/..data',
  'app.env',
  'tls.pem',
  'labels.txt',
  'evil.txt',
]);
const labelFiles = new Map([
  ['labels.txt', '# ours\na=b\n\n'],
  ['evil.txt', 'com.docker.compose.project=other\n'],
]);

function refusalsOf(...texts: string[]) {
  return judged(texts, false);
}

function judged(texts: string[], allow_privileged: boolean) {
  const parsed = texts.map((text) => parseComposeFile('compose.yaml', text));
  const faults = parsed.flatMap((one) => ('faults' in one ? one.faults : []));
  if (faults.length > 0) return [{ code: 'COMPOSE_REFUSED', detail: faults.join('; ') }];
  const files = parsed.flatMap((one) => ('file' in one ? [one.file] : []));
  const agent = { ...manifest.agent, allow_privileged };
  const facts = { releaseFiles, labelFiles, projectName: 'deployd-eu-1' };
  return judgeCompose(files, { ...facts, manifest: { ...manifest, agent } });
}

const serviceWith = (line: string) => `services:\n  other: {image: app:1}\n  web:\n    ${line}\n`;
const mountOf = (mount: string) => serviceWith(`volumes: [${mount}]`);
const fileWith = (line: string) => `services: {web: {image: app:1}}\n${line}\n`;

const rows = [
  ...serviceRows.map((row) => rowOf(row, serviceWith)),
  ...mountRows.map((row) => rowOf(row, mountOf)),
  ...sectionRows.map((row) => rowOf(row, fileWith)),
];

function rowOf([code, hostile, harmless]: Row, within: (text: string) => string) {
  return { code, title: hostile, hostile: within(hostile), harmless: within(harmless) };
}

describe('the compose policy', () => {
  it.each(rows)('$code for $title, and its smallest edit passes', ({ code, hostile, harmless }) => {
    expect(refusalsOf(hostile).map((refusal) => refusal.code)).toEqual([code]);
    expect(refusalsOf(harmless)).toEqual([]);
  });

  it.each(rows)('allow_privileged lifts $code only where it is power: $title', ({ code, hostile }) => {
    const left = code === 'COMPOSE_REFUSED' ? [code] : [];
    expect(judged([hostile], true).map((refusal) => refusal.code)).toEqual(left);
  });

  it.each(rows)('$code is found in a second file too: $title', ({ code, hostile }) => {
    expect(refusalsOf(serviceWith('image: app:1'), hostile).map((refusal) => refusal.code)).toContain(code);
  });

  it.each(yamlRows)('a file with %s is refused, and its smallest edit passes', (_title, hostile, harmless) => {
    expect(refusalsOf(hostile)).not.toEqual([]);
    expect(refusalsOf(harmless)).toEqual([]);
  });

  it.each(Object.keys(serviceKeys))('no service may have a value of strange shape under %s', (key) => {
    expect(refusalsOf(serviceWith(`${key}: [[a]]`))).not.toEqual([]);
    expect(refusalsOf(serviceWith(`${key}: {a: {b: {c: [d]}}}`))).not.toEqual([]);
  });

  it('tells every fault with service, key and line, one refusal for each code', () => {
    const text =
      'services:\n  web:\n    privileged: true\n    cap_add:\n      - CHOWN\n      - SYS_ADMIN\n    build: .\n  db:\n    network_mode: host\n';
    expect(refusalsOf(text)).toEqual([
      {
        code: 'COMPOSE_REFUSED',
        detail: 'service web: build is refused: bundles bring images, they do not build them (compose.yaml:7)',
      },
      {
        code: 'PRIVILEGED_REFUSED',
        detail: 'service web: privileged true (compose.yaml:3); service web: cap_add SYS_ADMIN (compose.yaml:6)',
      },
      { code: 'HOST_NETWORK_REFUSED', detail: 'service db: network_mode host (compose.yaml:9)' },
    ]);
  });

  it('judges services of profiles and services that only others extend', () => {
    const text = 'services:\n  a: {image: x, profiles: [never], privileged: true}\n  b: {extends: a}\n';
    expect(refusalsOf(text)).toEqual([
      { code: 'PRIVILEGED_REFUSED', detail: 'service a: privileged true (compose.yaml:2)' },
    ]);
  });

  it('tells no control characters of a bundle', () => {
    const [refusal] = refusalsOf('services: {web: {"a\\nrefused: x\\e[2J": 1}}');
    expect(refusal!.detail).toBe('service web: a\ufffdrefused: x\ufffd[2J is not a known key (compose.yaml:1)');
  });

  it('refuses a label file that it was not shown', () => {
    const parsed = parseComposeFile('compose.yaml', serviceWith('label_file: labels.txt'));
    const files = 'file' in parsed ? [parsed.file] : [];
    const [refusal] = judgeCompose(files, { manifest, releaseFiles, projectName: 'deployd-eu-1' });
    expect(refusal?.code).toBe('COMPOSE_REFUSED');
  });

  it('lets an ordinary application pass', () => {
    expect(refusalsOf(ordinary)).toEqual([]);
  });
});

const ordinary = `
name: deployd-eu-1
x-common: &common
  restart: unless-stopped
  logging: {driver: json-file, options: {max-size: 10m, max-file: "3"}}
  security_opt: ["no-new-privileges:true"]
services:
  web:
    <<: *common
    image: registry.example/shop@sha256:abc
    ports: ["\${PORT:-80}:80", 443, {target: 8080, published: "8080", host_ip: 127.0.0.1}]
    environment: {DB_PASSWORD: "\${DB_PASSWORD}", MODE: production, DEBUG: }
    depends_on: {db: {condition: service_healthy}, migrate: {condition: service_completed_successfully}}
    volumes: ["./conf:/etc/app:ro", "cache:/var/cache", {type: tmpfs, target: /tmp}]
    secrets: [tls, {source: token, target: /run/token, mode: 0440}]
    networks: {front: , back: {aliases: [shop]}}
    deploy: {replicas: 2, resources: {limits: {cpus: "0.5", memory: 256M}}}
    read_only: true
    user: "1000:1000"
    cap_drop: [ALL]
    cap_add: [NET_BIND_SERVICE]
  db:
    <<: *common
    image: postgres:16
    env_file: [app.env]
    volumes: ["data:/var/lib/postgresql/data"]
    healthcheck: {test: [CMD-SHELL, "pg_isready -U $$USER"], interval: 5s, retries: 10, start_period: 10s}
    shm_size: 128m
    networks: [back]
  migrate:
    extends: {service: web}
    command: ["migrate", "--to", "\${VERSION:?which}"]
    restart: "no"
volumes: {data: , cache: {labels: [a=b]}}
networks: {front: {}, back: {internal: true}}
secrets: {tls: {file: tls.pem}, token: {environment: TOKEN}}
configs: {c: {content: "listen \${PORT:-80}"}}
`;
