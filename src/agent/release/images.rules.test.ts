import {
  digestReference,
  imagePullsOf,
  isRecordedImage,
  registryDigestOf,
  type ReleaseImage,
  releaseImagesOf,
  imagesThatRan,
  serviceReferencesOf,
} from './images.rules.ts';
import type { ReleaseRecord } from './record.rules.ts';
import { selectForRemoval, unneededImages } from './garbage.rules.ts';

const nothing = { mountedShas: new Set<string>(), usedImages: new Set<string>(), usedImageIds: new Set<string>() };
/** One image for each reference. */
const present = (...references: string[]) =>
  references.map((name, number) => ({ id: `sha256:${number}`, references: [name] }));
const releases = [
  { sha: 'd', images: ['app:4', 'db:1'], restorable: true },
  { sha: 'c', images: ['app:3', 'db:1'], restorable: true },
  { sha: 'b', images: ['app:2', 'db:1'], restorable: true },
  { sha: 'a', images: ['app:1', 'cache:1'], restorable: true },
];

const all = present(...new Set(releases.flatMap(({ images }) => images)));

describe('garbage collection after a success (spec §12.7)', () => {
  it('keeps the newest releases and removes images that only older ones reference', () => {
    expect(selectForRemoval({ ...nothing, releases, engineImages: all, current: 'd', keep: 2 })).toEqual({
      shas: ['b', 'a'],
      keptByMount: [],
      images: ['app:2', 'app:1', 'cache:1'],
    });
  });

  it('counts the current release first, however old it is', () => {
    expect(selectForRemoval({ ...nothing, releases, engineImages: all, current: 'a', keep: 1 }).shas).toEqual([
      'd',
      'c',
      'b',
    ]);
  });

  it('prefers restorable releases to newer ones that failed', () => {
    const withFailed = [{ sha: 'e', images: [], restorable: false }, ...releases];
    expect(
      selectForRemoval({ ...nothing, releases: withFailed, engineImages: all, current: 'd', keep: 2 }).shas,
    ).toEqual(['b', 'a', 'e']);
  });

  it('keeps an image recorded by id while a kept release or a container references it by name', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string, string];
    const here = [
      { id: a, references: ['app:secret'] },
      { id: b, references: ['app:4'] },
      { id: c, references: [] },
    ];
    const failed = { sha: 'e', images: [a, b, c], restorable: false };
    const kept = { sha: 'd', images: ['app:4'], restorable: true };
    const input = { ...nothing, usedImageIds: new Set([c]), releases: [failed, kept], engineImages: here };
    expect(selectForRemoval({ ...input, current: 'd', keep: 1 }).images).toEqual([a]);
  });

  it('removes an image that a removed release ran and that no longer has a tag, unless it is still needed', () => {
    const ids = ['a', 'b', 'c', 'd', 'e'].map((digit) => `sha256:${digit.repeat(64)}`) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const [gone, kept, used, tagged, byDigest] = ids;
    const here = [
      ...[gone, kept, used].map((id) => ({ id, references: [] })),
      { id: tagged, references: ['mine:1'] },
      { id: byDigest, references: [`app@sha256:${'f'.repeat(64)}`] },
      { id: `sha256:${'0'.repeat(64)}`, references: ['app:1'] },
    ];
    const old = { sha: 'a', images: ['app:1'], ids, restorable: true };
    const current = { sha: 'd', images: ['app:1'], ids: [kept], restorable: true };
    const input = { ...nothing, usedImageIds: new Set([used]), releases: [current, old], engineImages: here };
    expect(selectForRemoval({ ...input, current: 'd', keep: 1 }).images).toEqual([gone, byDigest]);
  });

  it('keeps a release that is being applied in addition to the others', () => {
    const input = { ...nothing, releases, engineImages: all, current: 'c', keep: 2 };
    expect(selectForRemoval({ ...input, desired: 'd' })).toMatchObject({ shas: ['a'], images: ['app:1', 'cache:1'] });
    expect(selectForRemoval({ ...input, desired: 'c' }).shas).toEqual(['b', 'a']);
  });

  it('removes no mounted release and no used image; a mount alone does not keep an image', () => {
    const use = { ...nothing, mountedShas: new Set(['b']), usedImages: new Set(['cache:1']) };
    const { shas, keptByMount, images } = selectForRemoval({
      ...use,
      releases,
      engineImages: all,
      current: 'd',
      keep: 1,
    });
    expect(shas).toEqual(['c', 'a']);
    expect(keptByMount).toEqual(['b']);
    expect(images).toEqual(['app:3', 'app:2', 'app:1']);
  });

  it('keeps every name of an image that a container uses by id, and ignores unknown image names', () => {
    const twice = [{ id: 'sha256:x', references: ['app:1', 'other:1'] }, ...present('app:2')];
    const usedImages = new Set(['sha256:x']);
    const { images } = selectForRemoval({
      ...nothing,
      usedImages: usedImages,
      releases,
      engineImages: twice,
      current: 'd',
      keep: 1,
    });
    expect(images).toEqual(['app:2']);
  });

  it.each([
    ['docker.io/library/app:1', 'app:1'],
    ['app', 'app:latest'],
    ['index.docker.io/user/app:1', 'user/app:1'],
    [`app:1@sha256:${'a'.repeat(64)}`, `app@sha256:${'a'.repeat(64)}`],
  ])('treats %s and %s as the same image', (one, other) => {
    for (const [old, kept] of [[one, other] as const, [other, one] as const]) {
      const both = [
        { sha: 'b', images: [kept], restorable: true },
        { sha: 'a', images: [old], restorable: true },
      ];
      const here = { releases: both, engineImages: present(old) };
      expect(selectForRemoval({ ...nothing, ...here, current: 'b', keep: 1 }).images).toEqual([]);
      const usedImages = new Set([kept]);
      expect(selectForRemoval({ ...nothing, ...here, usedImages: usedImages, current: null, keep: 0 }).images).toEqual(
        [],
      );
    }
  });

  it('keeps the last tag of an image that a kept release ran under another tag, which moved', () => {
    const [ran, moved] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string];
    const input = {
      ...{ ...nothing, current: 'd', keep: 1 },
      releases: [
        { sha: 'd', images: ['app:4'], ids: [ran], restorable: true },
        { sha: 'c', images: ['app:3'], ids: [ran], restorable: true },
      ],
    };
    const digest = `app@sha256:${'c'.repeat(64)}`;
    const store = (...references: string[]) => [
      { id: ran, references },
      { id: moved, references: ['app:4'] },
    ];
    expect(selectForRemoval({ ...input, engineImages: store('app:3', digest) }).images).toEqual([]);
    expect(selectForRemoval({ ...input, engineImages: store('app:3', 'app:5') }).images).toEqual(['app:3']);
  });

  it('removes an image once, by its first reference', () => {
    const written = [
      { sha: 'b', images: ['docker.io/app:1', 'app:1'], restorable: true },
      { sha: 'a', images: ['library/app:1'], restorable: true },
    ];
    const here = { releases: written, engineImages: present('app:1') };
    expect(selectForRemoval({ ...nothing, ...here, current: null, keep: 0 }).images).toEqual(['docker.io/app:1']);
  });
});

it.each([
  ['nothing', [], [0, 1, 2]],
  ['its id', [`sha256:${'1'.repeat(64)}`], [0, 2]],
  ['a reference by its digest, and a tag beside it', [`app:3@sha256:${'b'.repeat(64)}`], [0, 1]],
  ['another digest of the name', [`app@sha256:${'c'.repeat(64)}`], [0, 1, 2]],
])('a dangling image is removed unless others need it: %s (spec §22.5)', (_what, needed, removed) => {
  const dangling = [[], [], [`docker.io/library/app@sha256:${'b'.repeat(64)}`]].map((references, index) => {
    return { id: `sha256:${String(index).repeat(64)}`, references };
  });
  expect(unneededImages(dangling, needed)).toEqual(removed.map((index) => dangling[index]?.id));
});

const [a, b, c] = ['a', 'b', 'c'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string, string];
const record = { images: [], services: [] } as unknown as ReleaseRecord;
const container = (service: string, image: string) => {
  return { id: service, service, image, networks: [], volumes: [], number: '1' };
};

describe('the images of a release that starts again', () => {
  const model = {
    services: {
      web: { image: 'app:1', platform: 'linux/arm64' },
      other: { image: 'app:1' },
      shown: { image: 'reg/password/app:1' },
      job: { image: 'job:1' },
      kept: { image: 'kept:1', pull_policy: 'never' },
    },
  };
  const images = [
    { reference: 'app:1', id: a, digest: c },
    { reference: b, id: b, digest: c },
    { reference: 'job:1', id: c, digest: null },
    { reference: 'kept:1', id: c },
    { reference: 'unknown:1', id: null },
  ];
  const finished = { service: 'job', fingerprint: '', image: c, volumes: [] };
  const whole = { ...record, images, containers: [container('shown', b)], jobs: [finished] };

  it('are the images of its unfinished services; a reference with a secret is resolved by its container', () => {
    expect(releaseImagesOf(whole, serviceReferencesOf(model, whole))).toEqual<ReleaseImage[]>([
      {
        ...{ reference: 'app:1', id: a, digest: c, services: ['web', 'other'] },
        ...{ isPullable: true, platform: 'linux/arm64' },
      },
      { reference: 'reg/password/app:1', id: b, digest: c, services: ['shown'], isPullable: true, platform: null },
      { reference: 'kept:1', id: c, digest: undefined, services: ['kept'], isPullable: false, platform: null },
    ]);
  });

  it('are found by the digest that ran, which the managers of a swarm record as the id', () => {
    const shared = {
      images: [
        { reference: 'app:1', id: a, digest: null },
        { reference: b, id: b, digest: c },
      ],
    };
    const services = { web: { image: 'app:1' }, pinned: { image: `app@${b}` }, shown: { image: 'reg/password/app:1' } };
    const references = serviceReferencesOf({ services }, record);
    const ran = (orchestrator: 'compose' | 'swarm') =>
      imagesThatRan({ ...shared, containers: [container('shown', b)] }, references, orchestrator).map(
        ({ image }) => image,
      );
    expect(ran('compose')).toEqual(['app:1', `app@${b}`, `reg/password/app@${c}`]);
    expect(ran('swarm')).toEqual([`app@${a}`, `app@${b}`, `reg/password/app@${c}`]);
  });

  it('are the recorded ones if the model is unknown', () => {
    const found = releaseImagesOf(whole, []);
    expect(found.map(({ reference, services }) => [reference, services])).toEqual([
      ['app:1', []],
      [b, []],
      ['job:1', []],
      ['kept:1', []],
    ]);
  });

  it('are named by their digests if these were verified', () => {
    const verified_images = [
      { service: 'web', image: 'app:1@x', digest: a, signers: [] },
      { service: 'other', image: `app@${b}`, digest: b, signers: [] },
    ];
    const written = { services: { web: { image: 'app:1' }, other: { image: `app@${b}` } } };
    expect(serviceReferencesOf(written, { ...record, verified_images }).map(({ image }) => image)).toEqual([
      `app:1@${a}`,
      `app@${b}`,
    ]);
    expect(serviceReferencesOf({}, record)).toEqual([]);
  });
});

it.each([
  ['its repository', 'app:1', [`other@${a}`, `app@${b}`], b],
  ['its repository in another spelling', 'app:1', [`docker.io/library/app@${b}`], b],
  ['its repository at a registry with a port', 'reg.example:5000/app:1', [`reg.example:5000/app@${b}`], b],
  ['the digest that is written', `app:1@${b}`, [`app@${a}`, `app@${b}`], b],
  ['another repository', 'app:1', [`other@${a}`], null],
  ['the same name at another registry', 'reg.example/app:1', [`app@${a}`], null],
  ['no registry', 'app:1', [], null],
])('records the digest by which %s knows an image', (_what, reference, known, expected) => {
  expect(registryDigestOf(reference, known)).toBe(expected);
});

it.each([
  ['app', `app@${a}`],
  ['app:1', `app@${a}`],
  ['reg.example:5000/team/app', `reg.example:5000/team/app@${a}`],
  ['reg.example:5000/team/app:1', `reg.example:5000/team/app@${a}`],
  [`app:1@${a}`, `app@${a}`],
])('pulls %s as %s', (reference, expected) => {
  expect(digestReference(reference, a)).toBe(expected);
});

it.each([
  ['the same id', { id: a, digest: b }, a, true],
  ['another id', { id: a, digest: b }, c, false],
  ['a recorded id of the other store', { id: b, digest: b }, c, true],
  ['an id of the other store', { id: a, digest: b }, b, true],
])('treats a pulled image as the recorded one: %s', (_what, recorded, pulled, expected) => {
  expect(isRecordedImage(recorded, pulled)).toBe(expected);
});

it.each<[string, string[], string[], string[][]]>([
  ['without a login', ['a', 'r.example/b'], [], [['s0'], ['s1']]],
  ['that several services have', ['a', 'r.example/b', 'a'], [], [['s0,s2'], ['s1']]],
  [
    'with the login for its path or registry alone',
    ['r.example/a/x', 'r.example/b/y', 'q.example/c'],
    ['r.example/a', 'r.example/b', 'q.example'],
    [
      ['s0', 'r.example/a'],
      ['s1', 'r.example/b'],
      ['s2', 'q.example'],
    ],
  ],
  [
    'outside the path of the login',
    ['r.example/a/x', 'r.example/open'],
    ['r.example/a'],
    [['s0', 'r.example/a'], ['s1']],
  ],
])('pulls each image separately: one %s', (_title, images, hosts, pulls) => {
  const services = images.map((image, index) => ({ service: `s${index}`, image }));
  const logins = hosts.map((host) => ({ host }));
  const told = imagePullsOf(services, logins).map((pull) => [
    pull.services.join(),
    ...pull.logins.map(({ host }) => host),
  ]);
  expect(told).toEqual(pulls);
});
