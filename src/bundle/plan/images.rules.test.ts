import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import type { EngineMeans } from './bundleToStart.rules.ts';
import { pulledImageFaults } from './hostFaults.rules.ts';
import { formatPulls, type LocalImage, plannedPulls, pullPlanOf } from './images.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const nowMs = Date.parse('2026-11-29T12:00:00Z');
const hourMs = 3_600_000;
const tagged = (agoMs: number): LocalImage => ({ ...unknown, taggedMs: nowMs - agoMs });
const unknown: LocalImage = { taggedMs: null, user: '', architecture: '' };
const digest = `app@sha256:${'a'.repeat(64)}`;

it.each<[string, { image?: string; policy: string | null; local: LocalImage | null }, 'pulled' | 'absent' | 'local']>([
  ['no policy', { policy: null, local: tagged(0) }, 'pulled'],
  ['no policy, no image', { policy: null, local: null }, 'pulled'],
  ['always', { policy: 'always', local: tagged(0) }, 'pulled'],
  ['missing', { policy: 'missing', local: unknown }, 'local'],
  ['missing, no image', { policy: 'missing', local: null }, 'pulled'],
  ['if_not_present', { policy: 'if_not_present', local: unknown }, 'local'],
  ['if_not_present, no image', { policy: 'if_not_present', local: null }, 'pulled'],
  ['never', { policy: 'never', local: unknown }, 'local'],
  ['never, no image', { policy: 'never', local: null }, 'absent'],
  ['a digest', { image: digest, policy: null, local: unknown }, 'local'],
  ['a digest with a tag', { image: digest.replace('@', ':1@'), policy: null, local: unknown }, 'local'],
  ['a digest, always', { image: digest, policy: 'always', local: unknown }, 'local'],
  ['a digest, no image', { image: digest, policy: null, local: null }, 'pulled'],
  ['a digest, never, no image', { image: digest, policy: 'never', local: null }, 'absent'],
  ['daily, recent', { policy: 'daily', local: tagged(24 * hourMs - 1) }, 'local'],
  ['daily, old', { policy: 'daily', local: tagged(24 * hourMs) }, 'pulled'],
  ['daily, of unknown age', { policy: 'daily', local: unknown }, 'pulled'],
  ['daily, of the future', { policy: 'daily', local: tagged(-1) }, 'pulled'],
  ['daily, no image', { policy: 'daily', local: null }, 'pulled'],
  ['weekly, recent', { policy: 'weekly', local: tagged(168 * hourMs - 1) }, 'local'],
  ['weekly, old', { policy: 'weekly', local: tagged(168 * hourMs) }, 'pulled'],
  ['every_1d12h, recent', { policy: 'every_1d12h', local: tagged(36 * hourMs - 1) }, 'local'],
  ['every_1d12h, old', { policy: 'every_1d12h', local: tagged(36 * hourMs) }, 'pulled'],
  ['every_90m30s, recent', { policy: 'every_90m30s', local: tagged(1.5 * hourMs + 29_999) }, 'local'],
  ['every_90m30s, old', { policy: 'every_90m30s', local: tagged(1.5 * hourMs + 30_000) }, 'pulled'],
  ['every_2w, recent', { policy: 'every_2w', local: tagged(335 * hourMs) }, 'local'],
])('decides for %s whether the image is pulled', (_title, { image = 'app:1', policy, local }, expected) => {
  const service = { service: 'web', image, pullPolicy: policy, local };
  expect(pullPlanOf([service], nowMs)).toEqual({
    pulled: expected === 'pulled' ? [service] : [],
    absent: expected === 'absent' ? [service] : [],
  });
});

it('lets a service that never pulls use the image that another service pulls', () => {
  const never = { service: 'web', image: 'app:1', pullPolicy: 'never', local: null };
  const other = { ...never, service: 'other', pullPolicy: null };
  expect(pullPlanOf([never, other], nowMs)).toEqual({ pulled: [other], absent: [] });
});

it('plans what is pulled, by image, with the values of known variables', () => {
  const text = `services:
    web: {image: 'app:\${TAG}'}
    other: {image: 'app:2', pull_policy: missing}
    idle: {image: 'idle:1', scale: 0}
    hidden: {image: 'hidden:1', profiles: [debug]}
    here: {image: 'here:1', pull_policy: missing}
    loaded: {image: 'loaded:1', pull_policy: never}
    secret: {image: 'app:\${SECRET}', pull_policy: never}
    policy: {image: 'policy:1', pull_policy: '\${SECRET}'}
  `;
  const parsed = parseComposeFile('compose.yaml', text);
  if (!('file' in parsed)) throw new Error('not parsed');
  const bundle = { sha: null, version: '1', variables: { TAG: '2' }, project: composeProjectOf([parsed.file]) };
  const local = new Map(['app:2', 'here:1'].map((image) => [image, unknown]));
  const facts = { digests: new Map(), texts: new Map() };
  const pulls = plannedPulls({ ...bundle, ...facts }, { local, nowMs });
  expect(pulls.map(({ image, services, pull }) => `${image} ${services.join()} ${pull}`)).toEqual([
    'app:${SECRET} secret unknown',
    'app:2 web,other pulled',
    'here:1 here local',
    'loaded:1 loaded absent',
    'policy:1 policy unknown',
  ]);
  expect(formatPulls(pulls)).toEqual([
    'pulled: app:2',
    'on this host, not pulled: here:1',
    'not on this host and never pulled (pull_policy), so that the apply fails: loaded:1',
    'known with the value of a variable: app:${SECRET}, policy:1',
  ]);
});

const manifest = { profiles: [], variables: {}, secrets: [], compose: ['compose.yaml'] } as unknown as Manifest;
const means: EngineMeans = {
  ...{ isPodman: false, apiVersion: '1.51', cpus: 2, memoryBytes: 2 ** 31, architecture: 'x86_64', hasIpv6Pool: false },
  ...{ networks: [], names: { networks: null, volumes: new Set() }, takenPorts: [] },
};
const image: LocalImage = { taggedMs: null, user: '', architecture: 'amd64' };
const top = 'configs: {c: {content: a}, f: {file: ./f}}\nsecrets: {s: {environment: A}}\n';

function judged(keys: string, ofImage: Partial<LocalImage>, engine: Partial<EngineMeans> = {}) {
  const parsed = parseComposeFile('compose.yaml', `services: {web: {image: app, ${keys}}}\n${top}`);
  if ('problems' in parsed) throw new Error(keys);
  const images = new Map([['web', { ...image, ...ofImage }]]);
  const { faults, notices } = pulledImageFaults({ project: composeProjectOf([parsed.file]), manifest }, images, {
    ...means,
    ...engine,
  });
  return { faults: faults.map(({ text }) => text), notices: notices.map(({ text }) => text) };
}

describe('the owner of copied content', () => {
  const old = { apiVersion: '1.41' };

  it.each([
    ['secrets: [{source: s, uid: "7"}]', { user: '33' }, {}, 'secrets.uid has no effect: the file belongs to 33'],
    ['secrets: [{source: s, gid: "34"}]', { user: '33' }, {}, 'secrets.gid has no effect'],
    ['configs: [{source: c, uid: "7"}]', { user: 'node' }, {}, 'configs.uid has no effect: the file belongs to node'],
    ['configs: [{source: c, uid: "7"}]', { user: 'root' }, {}, 'configs.uid has no effect: the file belongs to root'],
    ['user: "", configs: [{source: c, uid: "7"}]', { user: '33:34' }, {}, 'configs.uid has no effect'],
    ['user: "7:8", configs: [{source: c, uid: "7", gid: "8"}]', {}, old, 'configs.uid fails with Docker 20.10'],
    ['configs: [{source: c, uid: "7"}]', {}, { isPodman: true }, 'configs.uid has no effect with Podman'],
    ['configs: [{source: c, uid: "33"}]', { user: '33' }, old, 'configs.uid fails with Docker 20.10'],
  ])('is refused where the container does not give it: %s', (keys, ofImage, engine, text) => {
    expect(judged(keys, ofImage, engine).faults).toEqual([expect.stringContaining(`service web: ${text}`)]);
  });

  it.each([
    ['secrets: [{source: s, uid: "7", gid: "8"}]', {}, {}],
    ['secrets: [{source: s, uid: "33"}]', { user: '33' }, {}],
    ['secrets: [{source: s, uid: "33", gid: "34"}]', { user: '33:34' }, {}],
    ['secrets: [{source: s, mode: 0400}]', { user: 'node' }, old],
    ['secrets: [s]', { user: 'node' }, old],
    ['configs: [{source: f, uid: "0"}]', { user: 'node' }, {}],
    ['user: "7:8", configs: [{source: c, uid: "7", gid: "8"}]', { user: 'node' }, {}],
    ['user: "0", configs: [{source: c, uid: "0"}]', { user: 'node' }, old],
    ['user: "${A}", configs: [{source: c, uid: "0"}]', { user: 'node' }, old],
    ['configs: [{source: c, uid: "0", gid: "0"}]', {}, { ...old, isPodman: true }],
  ])('is allowed where the container gives it, or nobody asks: %s', (keys, ofImage, engine) => {
    expect(judged(keys, ofImage, engine).faults).toEqual([]);
  });
});

describe('an image for another processor', () => {
  it.each([
    ['tty: true', 'arm64', 'x86_64'],
    ['tty: true', 'amd64', 'aarch64'],
    ['tty: true', 's390x', 'riscv64'],
  ])('is named: %s, %s on %s', (keys, of, architecture) => {
    expect(judged(keys, { architecture: of }, { architecture }).notices).toEqual([
      expect.stringContaining(`service web: its image app is for `),
    ]);
  });

  it.each([
    ['tty: true', '386', 'x86_64'],
    ['tty: true', 'arm', 'aarch64'],
    ['tty: true', 'arm64', null],
    ['tty: true', '', 'x86_64'],
    ['platform: linux/arm64', 'arm64', 'x86_64'],
    ['scale: 0', 'arm64', 'x86_64'],
  ])('is not named where it runs, or where that is not known: %s, %s on %s', (keys, of, architecture) => {
    expect(judged(keys, { architecture: of }, { architecture }).notices).toEqual([]);
  });
});
