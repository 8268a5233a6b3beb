import type { EngineMeans } from './bundleToStart.ts';
import { parseComposeFile } from '../compose/document/composeFile.ts';
import type { Manifest } from '../../../../machines/types.ts';
import type { LocalImage } from './pullPlan.ts';
import { pulledImageFaults } from './startFaults.ts';

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
  const { faults, notices } = pulledImageFaults({ files: [parsed.file], manifest }, images, { ...means, ...engine });
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
