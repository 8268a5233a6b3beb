import { parseComposeFile } from './composeFile.ts';
import { readOnlyVolumes } from './readOnlyVolumes.ts';

function readOnlyOf(...texts: string[]): string[] {
  const read = texts.map((text) => parseComposeFile('compose.yaml', text));
  return [
    ...readOnlyVolumes(
      read.flatMap((one) => ('file' in one ? one.file : [])),
      'shop',
    ),
  ];
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
])('a volume %s is none', (_title, texts) => {
  expect(readOnlyOf(...texts)).not.toContain('data');
});
