import { corpus, corpusFiles } from '../../../fixtures/suites/corpus/corpus.ts';
import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { parseSubnet } from '../compose/networks.rules.ts';
import { validateComposePolicy } from './composePolicy.rules.ts';
import { serviceKeys } from './service.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const manifest: Manifest = {
  schema: 1,
  name: 'shop',
  env: 'eu-1',
  version: '1',
  sequence: 1,
  production: false,
  agent: { allow_privileged: false, allow_rollback: false },
  compose: ['compose.yaml'],
  profiles: [],
  variables: {},
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
  if (problems.length > 0) return [{ code: 'COMPOSE_REFUSED', detail: problems.map(({ text }) => text).join('; ') }];
  return validateComposePolicy(composeProjectOf(parsed.flatMap((one) => ('file' in one ? [one.file] : []))), context);
}

const serviceWith = (line: string) => `services:\n  web:\n    image: app:1\n    ${line}\n`;
const single = corpus.filter(({ placement }) => ['service', 'mount', 'file'].includes(placement));

/** fixtures/suites/corpus has the cases of single files. */
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
    expect(refusalsOf(text)).toMatchObject([
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
    expect(refusalsOf(text)).toMatchObject([
      { code: 'PRIVILEGED_REFUSED', detail: 'service a: privileged true (compose.yaml:2)' },
    ]);
  });

  it('replaces control characters in findings', () => {
    const [refusal] = refusalsOf('services: {web: {image: b, "a\\nrefused: x\\e[2J": 1}}');
    expect(refusal!.detail).toBe(
      'service web: a\ufffdrefused: x\ufffd[2J is not a known key (compose.yaml:1); service web: has a key with a control character (compose.yaml:1)',
    );
  });

  const filesOf = (text: string) => {
    const parsed = parseComposeFile('compose.yaml', text);
    return 'file' in parsed ? [parsed.file] : [];
  };

  it.each([
    ['label_file', 'labels.txt'],
    ['env_file', 'app.env'],
  ])('refuses a file whose text is missing: %s %s', (key, path) => {
    const detail = `service web: ${key} ${path} could not be read (compose.yaml:4)`;
    const project = composeProjectOf(filesOf(serviceWith(`${key}: ${path}`)));
    expect(validateComposePolicy(project, { ...context, texts: new Map() })).toMatchObject([
      { code: 'COMPOSE_REFUSED', detail },
    ]);
  });

  it.each([
    ['10.1.2.0/24', ["network n: ipam.config takes addresses of the host's route 10.1.0.0/16 (eth1) (compose.yaml:2)"]],
    ['10.2.0.0/24', []],
  ])('refuses a subnet on a route of the host: %s', (subnet, details) => {
    const text = `services: {web: {image: a}}\nnetworks: {n: {ipam: {config: [{subnet: ${subnet}}]}}}`;
    const routes = [{ subnet: parseSubnet('10.1.0.0/16')!, cidr: '10.1.0.0/16', device: 'eth1' }];
    const refusals = validateComposePolicy(composeProjectOf(filesOf(text)), { ...context, routes });
    expect(refusals).toMatchObject(details.map((detail) => ({ code: 'PRIVILEGED_REFUSED', detail })));
  });

  it.each([
    ['services:\n  a:\n    extends: b', 'service a: extends b, which is not in the same file (compose.yaml:3)'],
    ['services:\n  a:\n    extends: {}', 'service a: extends no service: name one (compose.yaml:3)'],
    ['services: {a: {extends: a}}', 'service a: extends in a circle or too deep (compose.yaml:1)'],
    ['services: {}', 'no compose file has a service'],
    ['x-a: b', 'no compose file has a service'],
  ])('refuses %j', (text, detail) => {
    expect(refusalsOf(text)).toMatchObject([{ code: 'COMPOSE_REFUSED', detail }]);
  });

  it('allows a chain of sixteen services that extend each other, and no longer one', () => {
    const chainOf = (count: number) =>
      `services:\n  s0: {image: a}\n${Array.from({ length: count }, (_, at) => `  s${at + 1}: {extends: s${at}}\n`).join('')}`;
    expect(refusalsOf(chainOf(16))).toMatchObject([]);
    expect(refusalsOf(chainOf(17))).toMatchObject([
      { code: 'COMPOSE_REFUSED', detail: 'service s17: extends in a circle or too deep (compose.yaml:19)' },
    ]);
  });

  it('names owner and key of a malformed variable', () => {
    const text =
      'services: {web: {x-a: ["${"], deploy: {x-b: "${"}}}\nnetworks: {n: {x-c: "${"}}\nx-configs: {e: "${"}\nvolumes: ["${"]\nvolumesx: {e: "${"}';
    const malformed = 'malformed variable in ${';
    expect(refusalsOf(text)).toMatchObject([
      {
        code: 'COMPOSE_REFUSED',
        detail: [
          'file: volumes must be a mapping (compose.yaml:4)',
          'file: volumesx is not a known key (compose.yaml:5)',
          `service web: x-a ${malformed} (compose.yaml:1)`,
          `service web: deploy.x-b ${malformed} (compose.yaml:1)`,
          `network n: x-c ${malformed} (compose.yaml:2)`,
          `file: x-configs.e ${malformed} (compose.yaml:3)`,
          `file: volumes ${malformed} (compose.yaml:4)`,
          `file: volumesx.e ${malformed} (compose.yaml:5)`,
        ].join('; '),
      },
    ]);
  });

  it('needs a service in only one of several files', () => {
    expect(refusalsOf('x-a: b', 'services: {web: {image: a}}')).toMatchObject([]);
  });

  it('refuses a mount of the directory of one of the compose files', () => {
    const facts = { ...context, manifest: { ...manifest, compose: ['compose.yaml', 'conf/more.yaml'] } };
    const project = composeProjectOf(filesOf(serviceWith('volumes: ["./conf:/x:ro"]')));
    expect(validateComposePolicy(project, facts)).toMatchObject([
      {
        code: 'COMPOSE_REFUSED',
        detail:
          'service web: volumes ./conf is or holds a compose file, which a container could rewrite (compose.yaml:4)',
      },
    ]);
  });

  it('has nothing to add when no file could be parsed', () => {
    expect(validateComposePolicy(composeProjectOf([]), context)).toMatchObject([]);
  });

  it('explains that compose reads a one-letter volume name as a Windows drive', () => {
    const [refusal] = refusalsOf(serviceWith('volumes: ["v:/x"]'));
    expect(refusal!.detail).toBe('service web: volumes v:/x is a Windows drive to compose (compose.yaml:4)');
  });

  it('allows an ordinary application', () => {
    expect(refusalsOf(ordinary)).toMatchObject([]);
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
