import { corpus, corpusFiles } from '../../../../../fixtures/corpus/corpus.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import { validateComposePolicy, validateModelPolicy } from './composePolicy.ts';
import { serviceKeys } from './service.ts';

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
const context = {
  releaseFiles: new Set(['compose.yaml', 'conf', ...Object.keys(corpusFiles)]),
  texts: new Map(Object.entries(corpusFiles)),
  projectName: 'deployd-eu-1',
  manifest,
  openedPaths: { all: [], byCompose: [] },
};

function refusalsOf(...texts: string[]) {
  const parsed = texts.map((text) => parseComposeFile('compose.yaml', text));
  const problems = parsed.flatMap((one) => ('problems' in one ? one.problems : []));
  if (problems.length > 0) return [{ code: 'COMPOSE_REFUSED', detail: problems.join('; ') }];
  return validateComposePolicy(
    parsed.flatMap((one) => ('file' in one ? [one.file] : [])),
    context,
  );
}

const serviceWith = (line: string) => `services:\n  web:\n    image: app:1\n    ${line}\n`;
const single = corpus.filter(({ placement }) => ['service', 'mount', 'file'].includes(placement));

/** fixtures/corpus has the cases of single files. */
describe('the compose policy', () => {
  it.each(single)('reports $code in a second file too: $title', ({ code, hostile }) => {
    const codes = refusalsOf('services: {first: {image: app:1}}', hostile.compose[0]!).map((refusal) => refusal.code);
    expect(codes).toContain(code);
  });

  it.each(Object.keys(serviceKeys))('refuses a value of the wrong shape under %s', (key) => {
    expect(refusalsOf(serviceWith(`${key}: [[a]]`))).not.toEqual([]);
    expect(refusalsOf(serviceWith(`${key}: {a: {b: {c: [d]}}}`))).not.toEqual([]);
  });

  it('reports every finding with service, key and line, in one refusal for each code', () => {
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

  it('validates services with profiles and services that are only extended', () => {
    const text = 'services:\n  a: {image: x, profiles: [never], privileged: true}\n  b: {extends: a}\n';
    expect(refusalsOf(text)).toEqual([
      { code: 'PRIVILEGED_REFUSED', detail: 'service a: privileged true (compose.yaml:2)' },
    ]);
  });

  it('replaces control characters in findings', () => {
    const [refusal] = refusalsOf('services: {web: {image: b, "a\\nrefused: x\\e[2J": 1}}');
    expect(refusal!.detail).toBe(
      'service web: a\ufffdrefused: x\ufffd[2J is not a known key (compose.yaml:1); service web: has a key with a control character (compose.yaml:1)',
    );
  });

  it('refuses a label file whose text is missing', () => {
    const parsed = parseComposeFile('compose.yaml', serviceWith('label_file: labels.txt'));
    const parts = 'file' in parsed ? [parsed.file] : [];
    const [refusal] = validateComposePolicy(parts, { ...context, texts: new Map() });
    expect(refusal?.code).toBe('COMPOSE_REFUSED');
  });

  it('explains that compose reads a one-letter volume name as a Windows drive', () => {
    const [refusal] = refusalsOf(serviceWith('volumes: ["v:/x"]'));
    expect(refusal!.detail).toBe(
      'service web: volumes v:/x: a Windows drive to compose, use a longer name (compose.yaml:4)',
    );
  });

  it('allows an ordinary application', () => {
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

describe('the compose policy for a rendered model', () => {
  const dir = '/var/lib/deployd/eu-1/staging/$abc';
  const refusalsOfModel = (web: object, more: object = {}) =>
    validateModelPolicy({ services: { web }, ...more }, dir, context);

  it.each<[string, object, object]>([
    ['paths of the release', { volumes: [{ type: 'bind', source: `${doubled(dir)}/conf`, target: '/c' }] }, {}],
    ['files of the release', {}, { configs: { c: { name: 'deployd-eu-1_c', file: `${doubled(dir)}/app.env` } } }],
    ['numbers, booleans and null', { init: true, cpus: 0.5, command: null, privileged: false }, {}],
    ['names that compose generates', {}, { networks: { default: { name: 'deployd-eu-1_default', ipam: {} } } }],
    ['the name of the project', {}, { name: 'deployd-eu-1' }],
    ['any dollar sign in a value', { environment: { A: '$$${x' } }, {}],
  ])('allows %s', (_title, web, more) => {
    expect(refusalsOfModel(web, more)).toEqual([]);
  });

  it.each<[string, object, string]>([
    ['PRIVILEGED_REFUSED', { privileged: true }, 'privileged'],
    ['PRIVILEGED_REFUSED', { volumes: [{ type: 'bind', source: '/hunter2', target: '/c' }] }, 'volumes'],
    ['PRIVILEGED_REFUSED', { volumes: [{ type: 'bind', source: `${dir}x/conf`, target: '/c' }] }, 'volumes'],
    ['COMPOSE_REFUSED', { volumes: [{ type: 'bind', source: doubled(dir), target: '/c' }] }, 'volumes'],
    ['COMPOSE_REFUSED', { volumes: [{ type: 'bind', source: `${doubled(dir)}/.env`, target: '/c' }] }, 'volumes'],
    ['HOST_NETWORK_REFUSED', { network_mode: 'host' }, 'network_mode'],
    ['COMPOSE_REFUSED', { labels: { 'com.docker.compose.hunter2': 'x' } }, 'labels'],
  ])('refuses with %s for %j, naming service and key but no value', (code, web, key) => {
    expect(refusalsOfModel(web)).toEqual([{ code, detail: `service web: ${key}, as compose renders it` }]);
  });

  it.each([null, [], 'text', {}, { services: {} }, { services: { web: 1 } }])('refuses the model %j', (model) => {
    expect(validateModelPolicy(model, dir, context).map(({ code }) => code)).toEqual(['COMPOSE_REFUSED']);
  });
});

function doubled(text: string): string {
  return text.replaceAll('$', '$$$$');
}
