import { contentLabel, creationFactsOf } from '../engine/container.rules.ts';
import type { RecordedContainer } from '../release/record.rules.ts';
import type { VerifiedImage } from '../state/state.rules.ts';
import { adoptable, type DriftCandidate, driftsAmong, placeholderHash, recordOf } from './drift.rules.ts';

const services = [{ name: 'web', replicas: 1 }];
const web: DriftCandidate = {
  ...{ id: 'c1', service: 'web', name: 'p-web-1', state: 'running' },
  created: {
    ...{ imageId: 'sha256:0123456789abcdef', networks: ['p_default'], volumes: [], number: '1' },
    ...{ configHash: 'h1', composeVersion: '2.26.1', content: '' },
  },
};
const recorded: RecordedContainer = recordOf(web);
const verified: VerifiedImage[] = [{ service: 'web', image: 'web', digest: 'sha256:d', signers: ['s'] }];

const other = (changed: Partial<DriftCandidate>, created: Partial<DriftCandidate['created']> = {}) => ({
  ...{ ...web, id: 'c2', ...changed },
  created: { ...web.created, ...created },
});

describe('a container', () => {
  it.each<[string, DriftCandidate, string | null]>([
    ['with the recorded id', web, null],
    ['with the recorded id and another name', { ...web, name: 'mine' }, null],
    ['with another id', other({}), 'container p-web-1 was created by another tool'],
    [
      'with another id and image',
      other({}, { imageId: 'sha256:fedcba9876543210' }),
      'container p-web-1 was created by another tool from another image, fedcba987654',
    ],
    ['of another service', other({ service: 'extra' }), 'container p-web-1 is of no service of the release'],
    [
      'without a network',
      { ...web, created: { ...web.created, networks: [] } },
      'container p-web-1 was attached to p_default, now to no network',
    ],
    [
      'that is stopped, without a network',
      { ...web, state: 'exited', created: { ...web.created, networks: [] } },
      null,
    ],
    ['that holds volumes for compose', other({ state: 'created' }, { configHash: placeholderHash }), null],
    [
      'of Podman, which writes image ids in another way',
      { ...web, created: { ...web.created, imageId: '0123' } },
      null,
    ],
  ])('%s', (_case, container, detail) => {
    const found = driftsAmong([container], { services, containers: [recorded] }, 'heal');
    expect(found.map((problem) => problem.detail)).toEqual(detail === null ? [] : [detail]);
  });

  it('is not drift if the release has no record of its containers', () => {
    expect(driftsAmong([other({})], { services }, 'heal')).toEqual([]);
  });

  it.each<[string, DriftCandidate, 'heal' | 'report', VerifiedImage[], string]>([
    ['is created again', other({}), 'heal', [], 'recreate'],
    ['stays with drift: report', other({}), 'report', [], 'none'],
    ['stays with its verified image', other({}), 'report', verified, 'none'],
    [
      'never stays with an image that was not verified',
      other({}, { imageId: 'sha256:f' }),
      'report',
      verified,
      'recreate',
    ],
    ['is left alone while it is paused', other({ state: 'paused' }), 'heal', [], 'none'],
  ])('of another tool %s', (_case, container, mode, verified_images, cure) => {
    const found = driftsAmong([container], { services, containers: [recorded], verified_images }, mode);
    expect(found).toMatchObject([{ service: 'web', cure, containers: ['c2'], isFailure: true }]);
  });
});

describe('a release without a record of its containers', () => {
  const record = { services, images: [{ reference: 'web', id: 'sha256:0123456789abcdef' }] };
  const facts = {
    record,
    hashes: new Map([['web', 'h1']]),
    composeVersion: '2.26.1',
    contents: new Map<string, string>(),
  };

  it.each<[string, DriftCandidate, Partial<typeof facts> | { hashes: null }, boolean]>([
    ['adopts what matches', web, {}, true],
    [
      'adopts what another version of compose created',
      web,
      { composeVersion: '2.40.3', hashes: new Map([['web', 'h2']]) },
      true,
    ],
    ['adopts by image and content where compose cannot tell hashes', web, { hashes: null }, true],
    ['adopts an image that Podman writes in another way', other({}, { imageId: '0123456789abcdef' }), {}, true],
    ['does not adopt another image', other({}, { imageId: 'sha256:f' }), {}, false],
    ['does not adopt another configuration', other({}, { configHash: 'h2' }), {}, false],
    ['does not adopt what compose did not create', other({}, { configHash: '', composeVersion: '' }), {}, false],
    ['does not adopt other content', other({}, { content: 'old' }), { contents: new Map([['web', 'new']]) }, false],
    ['does not adopt a service that it has not', other({ service: 'extra' }), {}, false],
  ])('%s', (_case, container, changed, isAdopted) => {
    const { adopted, foreign } = adoptable([container], { ...facts, ...changed });
    expect({ adopted, foreign }).toEqual(
      isAdopted ? { adopted: [container], foreign: [] } : { adopted: [], foreign: [container] },
    );
  });
});

it('takes the facts of a container from the engine’s list', () => {
  const Labels = {
    'com.docker.compose.config-hash': 'h',
    'com.docker.compose.version': '2.26.1',
    'com.docker.compose.container-number': '2',
    [contentLabel]: 'c',
  };
  const Mounts = [{ Source: '/srv' }, { Source: '/v', Name: 'p_data', Destination: '/data' }];
  const entry = { Id: 'c1', Names: ['/p-web-2'], State: 'running', Status: 'Up 1 second', Labels };
  expect(
    creationFactsOf({ ...entry, ImageID: 'sha256:1', Mounts, NetworkSettings: { Networks: { b: {}, a: {} } } }),
  ).toEqual({
    ...{ imageId: 'sha256:1', networks: ['a', 'b'], volumes: [{ name: 'p_data', target: '/data' }], number: '2' },
    ...{ configHash: 'h', composeVersion: '2.26.1', content: 'c' },
  });
  expect(creationFactsOf({ ...entry, Labels: null })).toMatchObject({
    imageId: '',
    networks: [],
    volumes: [],
    content: '',
  });
});
