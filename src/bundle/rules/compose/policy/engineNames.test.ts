import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import { validateComposePolicy, validateModelPolicy } from './composePolicy.ts';

const manifest = { agent: { allow_privileged: false }, compose: ['compose.yaml'] } as Manifest;
const outside = { containers: new Set(['db']), networks: new Set(['proxy']), volumes: new Set(['media']) };

function faultsOf(text: string): string[] {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
  const facts = { manifest, projectName: 'deployd-eu-1', releaseFiles: new Set<string>(), outside };
  return validateComposePolicy([parsed.file], facts).map(({ code, detail }) => `${code}: ${detail}`);
}

const web = 'services: {web: {image: a}}\n';

it('a name that compose would give is refused where a container outside the project has it (spec §22.6)', () => {
  const taken = { ...outside, containers: new Set(['deployd-shop-eu-web-1']) };
  const faults = (projectName: string, services: object) => {
    const context = {
      manifest,
      projectName,
      releaseFiles: new Set<string>(),
      outside: taken,
      openedPaths: { all: [], byCompose: [] },
    };
    return validateModelPolicy({ services }, '/release', context).map(({ code, detail }) => `${code}: ${detail}`);
  };
  expect(faults('deployd-shop', { 'eu-web': { image: 'a' } })).toEqual([
    'COMPOSE_REFUSED: service eu-web is no name here: deployd-shop-eu-web-1 is a container outside the project',
  ]);
  expect(faults('deployd-shop', { 'eu-web': { image: 'a', container_name: 'other' }, web: { image: 'a' } })).toEqual(
    [],
  );
  expect(faults('deployd-shop', { 'eu-web-2': { image: 'a' } })).toEqual([]);
});

describe('a name on the engine', () => {
  it.each([
    [
      'services: {web: {container_name: db}}',
      'COMPOSE_REFUSED: service web: container_name db is the name of a container outside the project (compose.yaml:1)',
    ],
    [
      `${web}volumes: {a: {name: media}}`,
      'PRIVILEGED_REFUSED: volume a: name media is one outside the project (compose.yaml:2)',
    ],
    [
      `${web}networks: {a: {name: proxy}}`,
      'PRIVILEGED_REFUSED: network a: name proxy is one outside the project (compose.yaml:2)',
    ],
    [`${web}networks: {a: {name: bridge}}`, 'PRIVILEGED_REFUSED: network a: name bridge (compose.yaml:2)'],
    [`${web}networks: {a: {name: db9086999caf}}`, 'PRIVILEGED_REFUSED: network a: name db9086999caf (compose.yaml:2)'],
    [
      `${web}volumes: {a: {name: deployd-eu-2_a}}`,
      'PRIVILEGED_REFUSED: volume a: name deployd-eu-2_a (compose.yaml:2)',
    ],
    [`${web}volumes: {a: {name: "\${V}"}}`, 'PRIVILEGED_REFUSED: volume a: name ${V} (compose.yaml:2)'],
    ...['a b', '-a', 'a', '0123456789ab_web'].map((name) => [
      `services: {web: {container_name: "${name}"}}`,
      `COMPOSE_REFUSED: service web: container_name ${name} is no name of a container (compose.yaml:1)`,
    ]),
  ])('is refused: %s', (text, fault) => {
    expect(faultsOf(text)).toEqual([fault]);
  });

  it.each([
    'services: {web: {container_name: shop.web-1}}',
    'services: {web: {container_name: "${V}"}}',
    `${web}volumes: {a: {name: db}, b: {name: deployd-eu-1_media}}`,
    `${web}networks: {a: {name: media}}`,
  ])('is allowed: %s', (text) => {
    expect(faultsOf(text)).toEqual([]);
  });
});

describe('the name of a container', () => {
  it.each(['scale: 2', 'deploy: {replicas: 2}'])('is for one container alone: %s', (line) => {
    const fault = 'COMPOSE_REFUSED: service web: container_name and several containers';
    expect(faultsOf(`services: {web: {container_name: shop, ${line}}}`)).toEqual([fault]);
  });

  it('is for one service alone', () => {
    const fault = 'COMPOSE_REFUSED: service b: container_name is that of service a too';
    expect(faultsOf('services: {a: {container_name: shop}, b: {container_name: shop}}')).toEqual([fault]);
  });
});
