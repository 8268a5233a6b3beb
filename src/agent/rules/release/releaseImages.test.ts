import {
  digestReference,
  isRecordedImage,
  registryDigestOf,
  releaseImagesOf,
  serviceReferencesOf,
  type ReleaseImage,
} from './releaseImages.ts';
import type { ReleaseRecord } from './releaseRecord.ts';

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

  it('are those of its services that have not finished; a reference with a secret is known by its container', () => {
    expect(releaseImagesOf(whole, serviceReferencesOf(model, whole))).toEqual<ReleaseImage[]>([
      {
        ...{ reference: 'app:1', id: a, digest: c, services: ['web', 'other'] },
        ...{ isPullable: true, platform: 'linux/arm64' },
      },
      { reference: 'reg/password/app:1', id: b, digest: c, services: ['shown'], isPullable: true, platform: null },
      { reference: 'kept:1', id: c, digest: undefined, services: ['kept'], isPullable: false, platform: null },
    ]);
  });

  it('are the recorded ones where the model is not known', () => {
    const found = releaseImagesOf(whole, []);
    expect(found.map(({ reference, services }) => [reference, services])).toEqual([
      ['app:1', []],
      [b, []],
      ['job:1', []],
      ['kept:1', []],
    ]);
  });

  it('are named by their digests where these were verified', () => {
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
])('takes a pulled image for the recorded one: %s', (_what, recorded, pulled, expected) => {
  expect(isRecordedImage(recorded, pulled)).toBe(expected);
});
