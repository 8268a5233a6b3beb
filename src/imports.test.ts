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

const types = ['machines/', 'src/protocol/', 'src/agent/config/settings.ts', 'src/agent/rules/'];
const redaction = ['src/agent/secrets/', 'src/agent/journal/'];
const platform = 'src/platform/';

const layers: Record<string, Layer> = {
  machines: {
    of: ['machines/'],
    may: ['machines/', 'xstate'],
    because: 'who reads the machines needs to know nothing else, and they can be played without anything happening',
  },
  protocol: {
    of: ['src/protocol/'],
    may: ['machines/', 'src/protocol/', 'ajv', 'yaml'],
    because: 'agent and tenancy service both speak it, so it knows neither of them',
  },
  platform: {
    of: [platform],
    may: [platform, 'node:'],
    because: 'agent and mesh client stand on it',
  },
  mesh: {
    of: ['src/mesh/'],
    may: ['src/mesh/', platform, 'node:', 'libsodium-wrappers'],
    because: 'it could be published alone: it knows the mesh and nothing of deployd',
  },
  rules: {
    of: ['src/agent/rules/'],
    may: ['machines/', 'src/protocol/', 'src/agent/rules/', 'yaml', 'ajv'],
    because: 'a decision comes from facts alone: no disk, no network, no clock, no configuration behind its back',
  },
  config: {
    of: ['src/agent/config/'],
    may: [...types, 'src/agent/config/', platform, 'node:', 'yaml', 'ajv'],
    because: 'the configuration is read before anything else is there',
  },
  secrets: {
    of: ['src/agent/secrets/'],
    may: [...types, 'src/agent/secrets/', 'node:'],
    because: 'the vault holds every secret, so it must have nobody to hand them to',
  },
  journal: {
    of: ['src/agent/journal/'],
    may: [...types, ...redaction, 'node:', 'winston'],
    because: 'every line passes the redactor, whoever writes it',
  },
  adapters: {
    of: ['src/agent/adapters/'],
    may: [
      ...types,
      ...redaction,
      'src/agent/adapters/',
      'src/mesh/mesh.ts',
      platform,
      'node:',
      'got',
      'dockerode',
      'tar',
      'lockfile',
    ],
    because: 'an adapter speaks to one outside thing and decides nothing, so it asks no service',
  },
  services: {
    of: ['src/agent/services/'],
    may: [...types, ...redaction, 'src/agent/adapters/', 'src/agent/services/', platform, 'node:', 'xstate'],
    because: 'a service joins rules and adapters; libraries and machinery are behind the adapters',
  },
  wiring: {
    of: ['src/agent/createAgent.ts', 'src/version.ts', 'src/agent/commands/'],
    may: ['machines/', 'src/', 'package.json', 'node:', 'xstate'],
    because: 'here everything is put together; libraries stay behind the adapters all the same',
  },
  cli: {
    of: ['src/agent/cli.ts'],
    may: ['machines/', 'src/', 'node:', 'commander'],
    because: 'the command line is the outermost layer',
  },
};

/** Who may import what is at the top. */
const tops = [
  { top: 'src/agent/cli', importers: [], because: 'nothing below may know that there is a command line' },
  {
    top: 'src/agent/createAgent.ts',
    importers: ['src/agent/cli.ts', 'src/agent/commands/'],
    because: 'one place builds things',
  },
  {
    top: 'src/agent/services/',
    importers: ['src/agent/services/', 'src/agent/createAgent.ts', 'src/agent/commands/'],
    because: 'machines ask by name',
  },
  { top: 'fixtures/', importers: [], because: 'what the tests stand on is not packed' },
];

/** Each library is the business of these files and of no others, so that it can be replaced in one place. */
const homes: Record<string, string[]> = {
  xstate: ['machines/', 'src/agent/services/index.ts', 'src/agent/commands/'],
  'libsodium-wrappers': ['src/mesh/seal.ts'],
  got: ['src/agent/adapters/http/gotClient.ts'],
  dockerode: ['src/agent/adapters/engine/'],
  tar: ['src/agent/adapters/files/archive.ts'],
  lockfile: ['src/agent/adapters/files/lock.ts'],
  winston: ['src/agent/journal/'],
  commander: ['src/agent/cli.ts'],
  ajv: ['src/agent/config/', 'src/agent/rules/', 'src/protocol/'],
  yaml: ['src/agent/config/', 'src/agent/rules/', 'src/protocol/'],
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
    libraries.filter(({ from }) => begins(from, ['src/agent/adapters/'])),
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
