import { refusalCodes } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { defaultPolicy, type Permits } from '../../api/hostPolicy.rules.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { anyHost, type HostPaths } from '../policy/policyHost.rules.ts';
import type { LocalImage } from './images.rules.ts';
import { abortedPlan, type HostFacts, manifestEnvOf, noHost, planOf } from './plan.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const manifest: Manifest = {
  ...{ schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, production: false, compose: ['compose.yaml'] },
  ...{ agent: { allow_privileged: false, allow_rollback: false }, disk_need_bytes: null },
  ...{ profiles: [], variables: {}, secrets: [], registries: [] },
};

function planned(keys: string, host: Partial<HostFacts>, more: Partial<Manifest> = {}) {
  const parsed = parseComposeFile('compose.yaml', `services: {web: {image: a, ${keys}}}\n`);
  const own = { ...manifest, ...more };
  const facts = {
    ...{
      manifest: own,
      sha: null,
      version: '1',
      variables: {},
      refusals: [],
      digests: new Map(),
      texts: new Map(),
    },
    ...{ project: composeProjectOf('file' in parsed ? [parsed.file] : []), releaseFiles: new Set(['compose.yaml']) },
  };
  return planOf(facts, { ...noHost, ...host });
}

const faultsOf = ({ refusals }: ReturnType<typeof planned>) =>
  refusals.flatMap(({ code, faults = [] }) => faults.map(({ text, cure }) => `${code}: ${text}: ${cure}`));

const engine = (containers: string[], freeBytes = 1, mountsSubpaths = true) => ({
  known: {
    ...{ volumes: [], orphanedVolumes: [], services: new Set<string>(), headroomBytes: 1 },
    policyFacts: {
      outside: { containers: new Set(containers), networks: new Set<string>(), volumes: new Set<string>() },
      mountsSubpaths,
    },
    filesystems: [{ device: 1, paths: ['/var'], freeBytes }],
  },
});

it('a name that a container outside the project has is refused where the engine is known', () => {
  const cure = 'give it another name, or leave the key out';
  const fault = `COMPOSE_REFUSED: service web: container_name db is the name of a container outside the project (compose.yaml:1): ${cure}`;
  expect(faultsOf(planned('container_name: db', { engine: engine(['db']) }))).toEqual([fault]);
  expect(faultsOf(planned('container_name: db', { engine: engine(['x']) }))).toEqual([]);
  expect(faultsOf(planned('container_name: db', {}))).toEqual([]);
});

it('a part of a volume is refused where the engine would mount the whole', () => {
  const part = 'volumes: [{type: volume, target: /x, volume: {subpath: a}}]';
  const cure = 'give the service its own volume, or install Docker 26 or newer on the host';
  const fault = `COMPOSE_REFUSED: service web: volumes.volume.subpath is ignored by this engine, which would mount the whole volume (compose.yaml:1): ${cure}`;
  expect(faultsOf(planned(part, { engine: engine([], 1, false) }))).toEqual([fault]);
  expect(faultsOf(planned(part, { engine: engine([]) }))).toEqual([]);
  expect(faultsOf(planned(part, {}))).toEqual([]);
});

it('each refusal has a cure', () => {
  const secrets = [{ var: 'A', path: 'x', field: 'f', version: null }];
  const found = planned('tty: true', { engine: engine([], 0) }, { secrets });
  expect(faultsOf(found)).toEqual([
    'SECRET_PATH_REFUSED: A: x leads elsewhere: write a path below deployd/data/eu-1/see/',
    expect.stringMatching(
      /^DISK_INSUFFICIENT: needs .*: remove images .*, free other space, or correct disk_need_bytes$/,
    ),
  ]);
});

it('space for images is needed only where one is pulled', () => {
  const known = (policy: string, local: object | null) => {
    const images = { local: new Map([['a', local as LocalImage | null]]), nowMs: 0 };
    const facts = { ...engine([], 2).known, images };
    return planned(`pull_policy: ${policy}`, { engine: { known: facts } }, { disk_need_bytes: 8 });
  };
  const here = { taggedMs: null, user: '', architecture: '' };
  for (const [policy, local, needed] of [
    ['missing', here, 1],
    ['never', null, 1],
    ['always', here, 13],
    ['missing', null, 13],
  ] as const) {
    const { disk, refusals } = known(policy, local);
    expect([policy, disk[0]?.needed_bytes]).toEqual([policy, needed]);
    expect(refusals.map(({ code }) => code)).toEqual(needed === 1 ? [] : ['DISK_INSUFFICIENT']);
  }
});

it('the targets of links in permitted paths are reported as unknown without a host', () => {
  const why = 'where links in the permitted paths lead was not looked at';
  const row = { codes: ['PRIVILEGED_REFUSED'], why };
  const notJudged = (permit: Partial<Permits>, paths: HostPaths | null) =>
    planned('tty: true', { policyHost: { ...anyHost, policy: { ...defaultPolicy, permit }, paths } }).not_judged;
  const paths: HostPaths = { resolved: new Map(), protectedPaths: [], mountedNow: [] };
  expect(notJudged({ binds: ['/srv'] }, null)).toContainEqual(row);
  expect(notJudged({ binds: ['/srv'] }, paths)).not.toContainEqual(row);
  expect(notJudged({ binds: [] }, null)).not.toContainEqual(row);
  expect(notJudged({}, null)).not.toContainEqual(row);
});

it('a refusal keeps its faults, and one without any is a fault itself', () => {
  const faults = [{ text: 'a', cure: 'b' }];
  const parsed = parseComposeFile('compose.yaml', 'services: {web: {image: a}}\n');
  const project = composeProjectOf('file' in parsed ? [parsed.file] : []);
  const plan = planOf(
    {
      ...{
        manifest,
        sha: null,
        version: '1',
        variables: {},
        digests: new Map(),
        texts: new Map(),
        project,
      },
      refusals: [
        { code: 'BUNDLE_UNSAFE', detail: 'a', faults },
        { code: 'BUNDLE_UNSAFE', detail: 'c' },
      ],
      releaseFiles: new Set(['compose.yaml']),
    },
    noHost,
  );
  expect(plan.refusals).toEqual([
    { code: 'BUNDLE_UNSAFE', detail: 'a; c', faults: [...faults, { text: 'c', cure: '' }] },
  ]);
  expect(abortedPlan(plan.refusals, null).refusals).toEqual(plan.refusals);
});

it('a plan that a refusal ended checks nothing after it', () => {
  const refusals = [{ code: 'BUNDLE_UNSAFE' as const, detail: 'x' }];
  const codes = refusalCodes.slice(refusalCodes.indexOf('MANIFEST_INVALID'));
  expect(abortedPlan(refusals, 'a'.repeat(64))).toEqual({
    ...{
      bundle: null,
      sha: 'a'.repeat(64),
      refusals,
      permitted: [],
      disk: [],
      services: [],
      volumes: [],
      images: [],
      variables: {},
      profiles: [],
      ignored: [],
      shown: [],
      warnings: [],
      notices: [],
    },
    not_judged: [
      { codes: ['BUNDLE_DIGEST'], why: 'only an announced bundle has a digest to compare with' },
      { codes, why: 'the judgement ended with BUNDLE_UNSAFE' },
    ],
  });
});

it.each([
  ['{"env": "eu-2"}', 'eu-2'],
  ['{"env": 1}', ''],
  ['{}', ''],
  ['null', ''],
  ['{', ''],
])('the env of %s is %j', (text, env) => {
  expect(manifestEnvOf(text)).toBe(env);
});
