import type { Refusal } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { anyHost } from '../policy/policyHost.rules.ts';
import { type BundleFacts, type HostFacts, noHost, planOf } from './plan.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const sha = 'a'.repeat(64);
const gib = 2 ** 30;
const manifest: Manifest = {
  schema: 1,
  name: 'shop',
  env: 'eu-1',
  version: '1',
  sequence: 3,
  production: false,
  agent: { allow_privileged: false, allow_rollback: false },
  compose: ['compose.yaml'],
  profiles: [],
  variables: {},
  disk_need_bytes: 2 * gib,
  secrets: [],
  registries: [],
};
const engine = {
  volumes: [{ name: 'deployd-eu-1_data', driver: 'local', options: {} }],
  orphanedVolumes: [],
  services: new Set<string>(),
  policyFacts: {
    outside: { containers: new Set(['db']), networks: new Set(['proxy']), volumes: new Set(['media']) },
    mountsSubpaths: true,
  },
  filesystems: [{ device: '1', paths: ['/var/lib/docker'], freeBytes: 9 * gib }],
  headroomBytes: gib,
};
const host: HostFacts = {
  policyHost: anyHost,
  newest: { known: { sequence: 3, sha: null } },
  applied: { known: null },
  engine: { known: engine },
};
const unknown: HostFacts = {
  policyHost: anyHost,
  newest: { unknown: 'no state' },
  applied: { unknown: 'no state' },
  engine: { unknown: 'no engine' },
};

function bundle(text: string, { refusals = [], ...changes }: Partial<Manifest> & { refusals?: Refusal[] } = {}) {
  const parsed = parseComposeFile('compose.yaml', text);
  const problems =
    'problems' in parsed
      ? [{ code: 'COMPOSE_REFUSED' as const, detail: parsed.problems.map(({ text }) => text).join('; ') }]
      : [];
  const facts: BundleFacts = {
    sha,
    version: manifest.version,
    variables: changes.variables ?? {},
    manifest: { ...manifest, ...changes },
    project: composeProjectOf('file' in parsed ? [parsed.file] : [], changes.profiles),
    refusals: [...refusals, ...problems],
    releaseFiles: new Set(['compose.yaml']),
    texts: new Map(),
    digests: new Map(),
  };
  return facts;
}

function codesOf(facts: BundleFacts, site = host): string[] {
  return planOf(facts, site).refusals.map(({ code }) => code);
}

const good = 'services: {web: {image: app:1}}';

describe('a plan refuses', () => {
  it('nothing of a valid bundle', () => {
    expect(codesOf(bundle(good))).toEqual([]);
  });

  it.each<[string, string, Partial<Manifest>]>([
    ['SECRET_PATH_REFUSED', good, { secrets: [{ var: 'A', path: 'x', field: 'f', version: null }] }],
    ['ENV_INCOMPLETE', 'services: {web: {image: "app:${TAG}"}}', {}],
    ['COMPOSE_REFUSED', 'services: {web: {build: .}}', {}],
    ['COMPOSE_REFUSED', 'services: {}', {}],
    ['PRIVILEGED_REFUSED', 'services: {web: {privileged: true}}', {}],
    ['HOST_NETWORK_REFUSED', 'services: {web: {network_mode: host}}', {}],
    ['ROLLBACK_REFUSED', good, { sequence: 2 }],
    ['VOLUME_DIVERGED', `${good}\nvolumes: {data: {driver_opts: {size: 1g}}}`, {}],
    ['DISK_INSUFFICIENT', good, { disk_need_bytes: 6 * gib }],
  ])('%s', (code, text, changes) => {
    expect(codesOf(bundle(text, changes))).toEqual([code]);
  });

  it.each<[string, Partial<Manifest>]>([
    [
      'services: {web: {privileged: true, network_mode: host}}',
      { agent: { ...manifest.agent, allow_privileged: true } },
    ],
    [good, { sequence: 2, agent: { ...manifest.agent, allow_rollback: true } }],
  ])('nothing that a flag of the bundle allows: %s', (text, changes) => {
    expect(codesOf(bundle(text, changes))).toEqual([]);
  });

  it('a privilege that a variable decides, whatever its value', () => {
    const text = 'services: {web: {privileged: "${P}", tty: "${T}"}}';
    expect(codesOf(bundle(text, { variables: { P: 'false', T: 'true' } }))).toEqual(['PRIVILEGED_REFUSED']);
  });

  it('no volume that only a failed bundle created', () => {
    const text = `${good}\nvolumes: {data: {driver_opts: {size: 1g}}}`;
    const left = { ...engine, orphanedVolumes: ['deployd-eu-1_data'] };
    expect(planOf(bundle(text), { ...host, engine: { known: left } }).refusals).toEqual([]);
  });

  it('all at once, in the order of the specification', () => {
    const text =
      'services: {a: {build: ., privileged: true, network_mode: host, user: $U}}\nvolumes: {data: {driver: x}}';
    const secrets = [{ var: 'A', path: 'x', field: 'f', version: null }];
    expect(codesOf(bundle(text, { secrets, sequence: 1, disk_need_bytes: 2 ** 50 }))).toEqual([
      'SECRET_PATH_REFUSED',
      'ENV_INCOMPLETE',
      'COMPOSE_REFUSED',
      'PRIVILEGED_REFUSED',
      'HOST_NETWORK_REFUSED',
      'ROLLBACK_REFUSED',
      'VOLUME_DIVERGED',
      'DISK_INSUFFICIENT',
    ]);
  });

  it('errors of the YAML and of the policy in one refusal', () => {
    const unread = { code: 'COMPOSE_REFUSED' as const, detail: 'the YAML tag x (b.yaml:1)' };
    const { refusals } = planOf(bundle('services: {a: {build: .}}', { sequence: 1, refusals: [unread] }), host);
    expect(refusals.map(({ code }) => code)).toEqual(['COMPOSE_REFUSED', 'ROLLBACK_REFUSED']);
    expect(refusals[0]?.detail).toMatch(/^the YAML tag x \(b\.yaml:1\); service a: build is refused/);
  });

  it('a missing compose file, without further checks', () => {
    const missing = { code: 'MANIFEST_INVALID' as const, detail: 'compose names b.yaml, which is not in the bundle' };
    const plan = planOf(bundle('services: {a: {build: .}}', { refusals: [missing] }), host);
    expect(plan).toMatchObject({ bundle: null, refusals: [missing], disk: [], services: [] });
  });
});

describe('a plan shows', () => {
  it('the free space of every filesystem', () => {
    const { disk } = planOf(bundle(good), host);
    expect(disk).toEqual([{ paths: ['/var/lib/docker'], free_bytes: 9 * gib, needed_bytes: 4 * gib }]);
  });

  it('its bundle', () => {
    const { bundle: named, sha: digest } = planOf(bundle(good), host);
    expect({ named, digest }).toEqual({ named: { name: 'shop', env: 'eu-1', version: '1', sequence: 3 }, digest: sha });
  });

  it.each([
    ['compose', [], []],
    ['swarm', ['COMPOSE_REFUSED'], ['service web: DB, to whoever may inspect services']],
  ] as const)('what %s refuses and shows', (orchestrator, refused, shown) => {
    const secrets = [{ var: 'DB', path: 'deployd/data/eu-1/see/db', field: 'a', version: null }];
    const text = 'services: {web: {image: a, mac_address: a, environment: {A: $DB}}}';
    const plan = planOf(bundle(text, { secrets }), { ...host, policyHost: { ...anyHost, orchestrator } });
    expect({ refused: plan.refusals.map(({ code }) => code), shown: plan.shown }).toEqual({ refused, shown });
  });

  it('what the policy of the host lets through', () => {
    const text = 'services: {web: {image: a, cap_add: [NET_ADMIN, SYS_ADMIN]}}\nnetworks: {proxy: {external: true}}';
    const policy = { ...anyHost.policy, permit: { capabilities: ['NET_ADMIN'], networks: ['proxy'] } };
    const { permitted, refusals } = planOf(bundle(text), { ...host, policyHost: { ...anyHost, policy } });
    expect(permitted).toEqual([
      { permit: 'capabilities', entry: 'NET_ADMIN', service: 'web' },
      { permit: 'networks', entry: 'proxy' },
    ]);
    expect(refusals.map(({ detail }) => detail)).toEqual(['service web: cap_add SYS_ADMIN (compose.yaml:1)']);
  });

  it('the variables of the bundle', () => {
    const variables = { LEVEL: 'info' };
    expect(planOf(bundle('services: {web: {command: $LEVEL}}', { variables }), host)).toMatchObject({
      refusals: [],
      variables,
    });
  });

  it('the changes of the host, in which a secret may have a new value', () => {
    const text = 'services: {web: {image: app, user: $A}, db: {image: x}}';
    const secrets = [{ var: 'A', path: 'deployd/data/eu-1/see/a', field: 'f', version: null }];
    const known = { ...bundle(text), sha: 'b'.repeat(64) };
    const running = { known: { ...engine, services: new Set(['web', 'db']) } };
    const { services, volumes, images } = planOf(bundle(text, { secrets }), {
      ...host,
      applied: { known },
      engine: running,
    });
    expect({ services, volumes, images }).toEqual({
      services: [
        { name: 'web', change: 'unknown' },
        { name: 'db', change: 'unchanged' },
      ],
      volumes: [{ name: 'deployd-eu-1_data', change: 'unused' }],
      images: [
        { name: 'app', change: 'unchanged' },
        { name: 'x', change: 'unchanged' },
      ],
    });
  });

  it('that containers stay where only hooks change', () => {
    const text = (hook: string) => `services: {web: {image: app, ${hook}}, db: {image: x, user: a}}`;
    const known = { ...bundle(text('pre_stop: [{command: [a]}]')), sha: 'b'.repeat(64) };
    const replacedBy = (after: string) => {
      const running = { known: { ...engine, services: new Set(['web', 'db']) } };
      const { services, replaced } = planOf(bundle(after), { ...host, applied: { known }, engine: running });
      return [services.find(({ name }) => name === 'web')?.change, ...(replaced ?? []).map(({ order }) => order)];
    };
    expect(replacedBy(text('pre_stop: [{command: [b]}]'))).toEqual(['changed', 'not replaced']);
    expect(replacedBy(text('post_start: [{command: [a]}]'))).toEqual(['changed', 'not replaced']);
    expect(replacedBy(text('user: a'))).toEqual(['changed', 'stop-first']);
    expect(replacedBy(text('pre_stop: [{command: [b]}], user: a'))).toEqual(['changed', 'stop-first']);
    expect(replacedBy(text('pre_stop: [{command: [a]}]'))).toEqual(['unchanged']);
  });

  const onlyApply = [
    {
      codes: ['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED', 'HOST_NETWORK_REFUSED'],
      why: 'the model that compose renders with the real values is validated by the tick before it promotes anything',
    },
    { codes: ['LEASE_SHAPE', 'SECRET_UNAVAILABLE', 'SECRET_UNUSABLE'], why: 'the secretstore is not contacted' },
  ];
  const noDigest = { codes: ['BUNDLE_DIGEST'], why: 'only an announced bundle has a digest to compare with' };

  it('which checks were not made, and why', () => {
    expect(planOf(bundle(good), host).not_judged).toEqual([noDigest, ...onlyApply]);
    const { refusals, disk, not_judged } = planOf({ ...bundle(good), sha: null }, unknown);
    expect({ refusals, disk }).toEqual({ refusals: [], disk: [] });
    expect(not_judged).toEqual([
      {
        codes: ['BUNDLE_DIGEST', 'BUNDLE_UNSAFE'],
        why: 'a directory is not an archive; all its names and file types were checked',
      },
      ...onlyApply,
      { codes: ['ROLLBACK_REFUSED'], why: 'no state' },
      { codes: ['VOLUME_DIVERGED', 'DISK_INSUFFICIENT'], why: 'no engine' },
    ]);
  });

  it('that a bundle was validated without a host', () => {
    const why = 'there is no configuration, so no host to look at';
    expect(planOf(bundle(good), noHost)).toMatchObject({
      refusals: [],
      not_judged: expect.arrayContaining([
        { codes: ['ROLLBACK_REFUSED'], why },
        { codes: ['VOLUME_DIVERGED', 'DISK_INSUFFICIENT'], why },
      ]) as object[],
    });
  });
});

describe('the wait for health', () => {
  const waits = { health_timeout_s: 300, health_timeout_max_s: 3600, job_timeout_s: 1800 };
  const here: HostFacts = { ...host, waits };
  const slow = (period: string) =>
    `services: {web: {image: a, healthcheck: {test: x, start_period: ${period}}}, job: {image: b, restart: "no"}}`;

  it('is the limit of the host, or the time that the services require', () => {
    expect(planOf(bundle('services: {web: {image: a}}'), here).wait).toMatchObject({ seconds: 300, chain: [] });
    expect(planOf(bundle(slow('10m')), here).wait).toEqual({
      seconds: 690,
      chain: [{ service: 'web', seconds: 690, why: 'start_period 600s + 3 × interval 30s' }],
      jobs: ['job'],
      job_timeout_s: 1800,
      unknown_images: [],
    });
  });

  it.each([
    ['1h', here, true],
    ['50m', here, false],
    ['1h', { ...here, waits: { ...waits, health_timeout_max_s: 7200 } }, false],
    ['1h', noHost, false],
    ['25h', noHost, true],
  ])('is refused if it is too long: %s', (period, target, isRefused) => {
    const { refusals } = planOf(bundle(slow(period)), target);
    expect(refusals.map(({ detail }) => detail).filter((detail) => detail.includes('to become healthy'))).toHaveLength(
      isRefused ? 1 : 0,
    );
  });

  it('knows the values of variables, and no service that does not run', () => {
    const text = `services:
  web: {image: a, healthcheck: {test: x, start_period: "\${PERIOD}"}}
  off: {image: a, scale: 0, healthcheck: {test: x, start_period: 2h}}
  debug: {image: a, profiles: [debug], healthcheck: {test: x, start_period: 2h}}`;
    expect(planOf(bundle(text, { variables: { PERIOD: '10m' } }), here).wait).toMatchObject({ seconds: 690 });
  });

  it('counts the healthchecks of images on the host, and names the others', () => {
    const image = { isWritten: true, isOff: false, hasTest: true, timeoutS: undefined };
    const imageHealthchecks = new Map([['a', { ...image, startPeriodS: 400, intervalS: 10, retries: 2 }]]);
    const facts: HostFacts = { ...here, engine: { known: { ...engine, imageHealthchecks } } };
    expect(planOf(bundle('services: {web: {image: a}, db: {image: b}}'), facts).wait).toMatchObject({
      seconds: 420,
      unknown_images: ['b'],
    });
  });
});
