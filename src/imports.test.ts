import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';

/**
 * Control goes one way, cli → machines → services → adapters, and so do the imports. What a layer may import stands
 * here with the reason; whatever is not allowed is banned.
 */
interface Layer {
  /** Files of the layer: those whose path begins so; the first layer that fits counts. */
  of: string[];
  /** What it may import: paths that begin so, `node:` modules, libraries by name. */
  may: string[];
  because: string;
}

const words = ['machines/', 'src/config/settings.ts', 'src/rules/'];
const heard = ['src/secrets/', 'src/journal/'];
const tls = 'src/tls/';
const disk = 'src/disk/';

const layers: Record<string, Layer> = {
  machines: {
    of: ['machines/'],
    may: ['machines/', 'xstate'],
    because: 'who reads the machines needs to know nothing else, and they can be played without anything happening',
  },
  rules: {
    of: ['src/rules/'],
    may: ['machines/', 'src/rules/', 'yaml', 'ajv'],
    because: 'a verdict comes from facts alone: no disk, no network, no clock, no configuration behind its back',
  },
  bytes: {
    of: ['src/bytes/'],
    may: [],
    because: 'whoever reads a stream may keep its bytes so, the mesh too',
  },
  config: {
    of: ['src/config/'],
    may: [...words, 'src/config/', disk, tls, 'node:', 'yaml', 'ajv'],
    because: 'the configuration is read before anything else is there',
  },
  secrets: {
    of: ['src/secrets/'],
    may: [...words, 'src/secrets/', 'src/secrets/redact.ts', 'node:'],
    because: 'the vault holds every secret, so it must have nobody to hand them to',
  },
  journal: {
    of: ['src/journal/'],
    may: [...words, ...heard, 'node:', 'winston'],
    because: 'every line passes the redactor, whoever writes it',
  },
  adapters: {
    of: ['src/adapters/'],
    may: [
      ...words,
      ...heard,
      'src/adapters/',
      'src/bytes/',
      'src/mesh/mesh.ts',
      disk,
      tls,
      'node:',
      'got',
      'dockerode',
      'tar',
      'lockfile',
    ],
    because: 'an adapter speaks to one outside thing and decides nothing, so it asks no service',
  },
  disk: {
    of: [disk],
    may: ['node:'],
    because: 'whatever stands in the place of a file holds nobody up, whoever reads it',
  },
  tls: {
    of: [tls],
    may: [tls, 'node:'],
    because: 'whom TLS trusts is decided once, for services, mesh and configuration alike',
  },
  mesh: {
    of: ['src/mesh/'],
    may: ['src/mesh/', 'src/bytes/', disk, tls, 'node:', 'libsodium-wrappers'],
    because: 'it could be published alone: it knows the mesh and nothing of deployd',
  },
  services: {
    of: ['src/services/'],
    may: [...words, ...heard, 'src/adapters/', 'src/services/', disk, 'node:', 'xstate'],
    because: 'a service joins rules and adapters; libraries and machinery are behind the adapters',
  },
  wiring: {
    of: ['src/wire.ts', 'src/version.ts', 'src/commands/', 'src/inspect/'],
    may: ['machines/', 'src/', 'package.json', 'node:', 'xstate'],
    because: 'here everything is put together; libraries stay behind the adapters all the same',
  },
  cli: {
    of: ['src/cli'],
    may: ['machines/', 'src/', 'node:', 'commander'],
    because: 'the command line is the outermost layer',
  },
};

/** Who may import what is at the top. */
const tops = [
  { top: 'src/cli', importers: ['src/cli'], because: 'nothing below may know that there is a command line' },
  { top: 'src/wire.ts', importers: ['src/cli', 'src/commands/', 'src/wire'], because: 'one place builds things' },
  { top: 'src/services/', importers: ['src/services/', 'src/wire', 'src/commands/'], because: 'machines ask by name' },
  { top: 'fixtures/', importers: [], because: 'what the tests stand on is not packed' },
];

/** Each library is the business of these files and of no others, so that it can be replaced in one place. */
const homes: Record<string, string[]> = {
  xstate: ['machines/', 'src/services/index.ts', 'src/commands/', 'src/inspect/'],
  'libsodium-wrappers': ['src/mesh/seal.ts'],
  got: ['src/adapters/gotClient.ts'],
  dockerode: ['src/adapters/containers.ts', 'src/adapters/engineCalls.ts'],
  tar: ['src/adapters/archive.ts'],
  lockfile: ['src/adapters/lock.ts'],
  winston: ['src/journal/'],
  commander: ['src/cli'],
  ajv: ['src/config/', 'src/rules/'],
  yaml: ['src/config/', 'src/rules/'],
};

interface Import {
  from: string;
  /** A path from the root of the repository, `node:…`, or the name of a library. */
  to: string;
}

const files = globSync(['machines/**/*.ts', 'src/**/*.ts'])
  .filter((file) => !file.endsWith('.test.ts'))
  .sort();
const imports = files.flatMap(importsOf);
const libraries = imports.filter(({ to }) => !isOurs(to) && !to.startsWith('node:'));

it('finds the files, and each of them is in a layer', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => layerOf(file) === undefined)).toEqual([]);
});

it.each(Object.entries(layers).map(([name, layer]) => ({ name, ...layer })))('$name: $because', ({ name, may }) => {
  const own = imports.filter(({ from }) => layerOf(from) === name);
  expect(told(own.filter(({ to }) => !begins(to, may)))).toEqual([]);
});

it.each(tops)('$top is imported only from above: $because', ({ top, importers }) => {
  expect(told(imports.filter(({ from, to }) => begins(to, [top]) && !begins(from, importers)))).toEqual([]);
});

it.each(Object.entries(homes))('%s is imported nowhere but at home', (library, home) => {
  const strays = libraries.filter(({ from, to }) => to === library && !begins(from, home));
  expect(told(strays)).toEqual([]);
});

it('imports no library that has no home', () => {
  expect(told(libraries.filter(({ to }) => !(to in homes)))).toEqual([]);
});

it('an adapter speaks to one outside library at most', () => {
  const adapters = Object.groupBy(
    libraries.filter(({ from }) => begins(from, ['src/adapters/'])),
    ({ from }) => from,
  );
  expect(Object.entries(adapters).filter(([, own]) => new Set(own!.map(({ to }) => to)).size > 1)).toEqual([]);
});

it('no file imports itself, by whatever way around', () => {
  expect(files.flatMap((file) => cycleFrom(file) ?? [])).toEqual([]);
});

function importsOf(from: string): Import[] {
  return ts.preProcessFile(readFileSync(from, 'utf8'), true, true).importedFiles.map(({ fileName }) => ({
    from,
    to: fileName.startsWith('.') ? normalize(join(dirname(from), fileName)) : libraryOf(fileName),
  }));
}

/** `ajv/dist/core.js` belongs to `ajv`; a scoped name keeps both its parts. */
function libraryOf(name: string): string {
  return name.startsWith('node:')
    ? name
    : name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/');
}

function layerOf(file: string): string | undefined {
  return Object.entries(layers).find(([, { of }]) => begins(file, of))?.[0];
}

function isOurs(path: string): boolean {
  return begins(path, ['machines/', 'src/', 'fixtures/', 'package.json']);
}

function begins(path: string, starts: string[]): boolean {
  return starts.some((start) => path.startsWith(start));
}

/** The way from a file back to itself, null where there is none. */
function cycleFrom(file: string, way: string[] = [file], seen = new Set<string>()): string | null {
  for (const { to } of imports.filter(({ from }) => from === way.at(-1))) {
    if (to === file) return [...way, to].join(' → ');
    if (seen.has(to)) continue;
    seen.add(to);
    const cycle = cycleFrom(file, [...way, to], seen);
    if (cycle !== null) return cycle;
  }
  return null;
}

function told(banned: Import[]): string[] {
  return banned.map(({ from, to }) => `${from} imports ${to}`);
}
