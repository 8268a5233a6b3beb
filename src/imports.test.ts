import { dirname } from 'node:path';
import {
  begins,
  fixtureImports,
  formatImports,
  sourceFiles,
  sourceImports,
  type Import,
} from '../fixtures/tools/architecture/imports.ts';
import { layers } from '../fixtures/tools/architecture/layers.ts';
import { outerLayers } from '../fixtures/tools/architecture/outerLayers.ts';

/** Layers that are ordered by topic: each folder is one topic. */
const topicFolders = [
  ...['machines/', 'src/core/', 'src/api/', 'src/registry/', 'src/mesh/', 'src/bundle/'],
  ...['src/signatures/', 'src/agent/', 'src/tenancy/', 'src/deployctl/', 'src/console/'],
];

it('assigns every source file to a layer', () => {
  expect(sourceFiles.length).toBeGreaterThan(50);
  expect(sourceFiles.filter((file) => layerOf(file) === undefined)).toEqual([]);
});

it.each(Object.entries(layers).map(([name, layer]) => ({ name, ...layer })))(
  '$name: $reason',
  ({ name, allowed, types = [] }) => {
    const own = sourceImports.filter(({ from }) => layerOf(from) === name);
    const isAllowed = ({ to, isType }: Import) => begins(to, allowed) || (isType && begins(to, types));
    expect(formatImports(own.filter((each) => !isAllowed(each)))).toEqual([]);
  },
);

it.each(outerLayers)('who imports $files: $reason', ({ files, importers }) => {
  expect(
    formatImports(sourceImports.filter(({ from, to }) => begins(to, [files]) && !begins(from, importers))),
  ).toEqual([]);
});

it('has no import cycle', () => {
  expect(sourceFiles.flatMap((file) => cycleFrom(file, sourceImports) ?? [])).toEqual([]);
});

it('has no cycle of folders in layers that are ordered by topic', () => {
  const own = sourceImports.filter(({ from, to }) => begins(from, topicFolders) && begins(to, topicFolders));
  const between = own
    .map(({ from, to, isType }) => ({ from: dirname(from), to: dirname(to), isType }))
    .filter(({ from, to }) => from !== to);
  const folders = new Set(between.map(({ from }) => from));
  expect([...folders].flatMap((folder) => cycleFrom(folder, between) ?? [])).toEqual([]);
});

it.each([
  { area: 'fixtures/world/', forbidden: ['fixtures/suites/', 'fixtures/tools/'], reason: 'a world knows no suite' },
  { area: 'fixtures/suites/', forbidden: ['fixtures/tools/'], reason: 'a suite needs no tool' },
])('$area: $reason', ({ area, forbidden }) => {
  const own = fixtureImports.filter(({ from }) => from.startsWith(area));
  expect(own.length).toBeGreaterThan(100);
  expect(formatImports(own.filter(({ to }) => begins(to, forbidden)))).toEqual([]);
});

function layerOf(file: string): string | undefined {
  return Object.entries(layers).find(([, { files }]) => begins(file, files))?.[0];
}

/** A cycle of imports through a file or folder; null without a cycle. */
function cycleFrom(start: string, imports: readonly Import[]): string | null {
  const seen = new Set<string>();
  const search = (way: string[]): string | null => {
    for (const { to } of imports.filter(({ from }) => from === way.at(-1))) {
      if (to === start) return [...way, to].join(' → ');
      if (seen.has(to)) continue;
      seen.add(to);
      const cycle = search([...way, to]);
      if (cycle !== null) return cycle;
    }
    return null;
  };
  return search([start]);
}
