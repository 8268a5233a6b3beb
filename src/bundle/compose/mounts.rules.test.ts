import { parseComposeFile } from './composeFile.rules.ts';
import { hostMountSources, readOnlyVolumes } from './mounts.rules.ts';
import { mergedFilesOf } from './services.rules.ts';

function readOnlyOf(...texts: string[]): string[] {
  const read = texts.map((text) => parseComposeFile('compose.yaml', text));
  return [...readOnlyVolumes(mergedFilesOf(read.flatMap((one) => ('file' in one ? one.file : []))), 'shop')];
}

const web = (mounts: string) => `services: {web: {volumes: [${mounts}]}}\n`;

it.each<[string, string[]]>([
  ['by the short form', [web('"data:/x:nocopy,ro"')]],
  ['by the long form', [web('{type: volume, source: data, target: /x, read_only: true, volume: {nocopy: true}}')]],
  ['beside another volume', [web('"data:/x:ro,nocopy", "logs:/y"')]],
  ['beside another volume with a name', [`${web('"data:/x:ro,nocopy", "logs:/y"')}volumes: {logs: {name: other}}`]],
])('a volume that is only read %s is one', (_title, texts) => {
  expect(readOnlyOf(...texts)).toEqual(['data']);
});

it.each<[string, string[]]>([
  ['that the engine may fill', [web('"data:/x:ro"')]],
  ['that is written', [web('"data:/x:nocopy"')]],
  ['that the engine may fill by the long form', [web('{type: volume, source: data, target: /x, read_only: true}')]],
  ['that is written by another mount', [web('"data:/x:ro,nocopy", "data:/y:nocopy"')]],
  [
    'that is written by a service of another file',
    [web('"data:/x:ro,nocopy"'), 'services: {b: {volumes: ["data:/x"]}}'],
  ],
  [
    'that is written by a base',
    ['services: {a: {volumes: ["data:/x"]}, b: {extends: a, volumes: ["data:/x:ro,nocopy"]}}'],
  ],
  ['that is written under its name', [`${web('"data:/x:ro,nocopy", "ww:/y"')}volumes: {ww: {name: shop_data}}`]],
  [
    'that is written under a name of another file',
    [
      `${web('"data:/x:ro,nocopy"')}volumes: {data: {name: n}}`,
      `services: {b: {volumes: ["ww:/y"]}}\nvolumes: {ww: {name: n}}`,
    ],
  ],
  [
    'that is written as an external one alone',
    [`${web('"data:/x:ro,nocopy", "ww:/y"')}volumes: {ww: {external: {name: shop_data}}}`],
  ],
  [
    'that is written as an external one',
    [`${web('"data:/x:ro,nocopy", "ww:/y", "shop_data:/z"')}volumes: {ww: {external: {name: shop_data}}}`],
  ],
])('a volume %s is not one', (_title, texts) => {
  expect(readOnlyOf(...texts)).not.toContain('data');
});

function sourcesOf(...texts: string[]): string[] {
  const read = texts.map((text) => parseComposeFile('compose.yaml', text));
  return hostMountSources(mergedFilesOf(read.flatMap((one) => ('file' in one ? one.file : []))));
}

it('are the absolute sources of mounts and volumes of all files, each once', () => {
  const mounts = '"/srv/a:/a", "/srv/a:/b:ro", {type: bind, source: /srv/long, target: /l}';
  const web = `services: {web: {volumes: [${mounts}]}}\nvolumes: {v: {driver_opts: {device: /srv/device}}, w: {}}`;
  expect(sourcesOf(web, 'services: {db: {volumes: ["/srv/db:/c"]}}')).toEqual([
    ...['/srv/a', '/srv/long', '/srv/db', '/srv/device'],
  ]);
});

it('a mount without a source, of a named volume or of a path in the release has none', () => {
  const mounts =
    '"/anonymous", "named:/x", "./site:/www", {type: tmpfs, target: /t}, {type: volume, source: v, target: /v}';
  expect(sourcesOf(`services: {web: {volumes: [${mounts}]}}`)).toEqual([]);
});
