import { begins, formatImports, sourceFiles, sourceImports } from '../fixtures/architecture/imports.ts';
import { layers } from '../fixtures/architecture/layers.ts';
import { outerLayers } from '../fixtures/architecture/outerLayers.ts';

it('assigns every source file to a layer', () => {
  expect(sourceFiles.length).toBeGreaterThan(50);
  expect(sourceFiles.filter((file) => layerOf(file) === undefined)).toEqual([]);
});

it.each(Object.entries(layers).map(([name, layer]) => ({ name, ...layer })))('$name: $reason', ({ name, allowed }) => {
  const own = sourceImports.filter(({ from }) => layerOf(from) === name);
  expect(formatImports(own.filter(({ to }) => !begins(to, allowed)))).toEqual([]);
});

it.each(outerLayers)('who imports $files: $reason', ({ files, importers }) => {
  expect(
    formatImports(sourceImports.filter(({ from, to }) => begins(to, [files]) && !begins(from, importers))),
  ).toEqual([]);
});

it('has no import cycle', () => {
  expect(sourceFiles.flatMap((file) => cycleFrom(file) ?? [])).toEqual([]);
});

function layerOf(file: string): string | undefined {
  return Object.entries(layers).find(([, { files }]) => begins(file, files))?.[0];
}

/** The shortest known import cycle through a file, null when there is none. */
function cycleFrom(file: string, way: string[] = [file], seen = new Set<string>()): string | null {
  for (const { to } of sourceImports.filter(({ from }) => from === way.at(-1))) {
    if (to === file) return [...way, to].join(' → ');
    if (seen.has(to)) continue;
    seen.add(to);
    const cycle = cycleFrom(file, [...way, to], seen);
    if (cycle !== null) return cycle;
  }
  return null;
}
