import { isOwnFile, sourceFiles, sourceImports, type Import } from '../fixtures/architecture/imports.ts';

/**
 * Control flows one way, cli → machines → services → adapters, and so do the imports. Each layer lists what it may import
 * and why; everything else is forbidden.
 */
interface Layer {
  /** Path prefixes of its files; the first layer that matches counts. */
  files: string[];
  /** Path prefixes, `node:` modules and libraries by name that it may import. */
  allowed: string[];
  reason: string;
}

/** The parts of the platform that have no side effects. */
const pureParts = ['errors/', 'text/', 'fact.ts', 'schemaParts.ts', 'host/hostFacts.ts'].map(
  (part) => `src/platform/${part}`,
);
const doctor = 'src/doctor/';
const bundleRules = 'src/bundle/rules/';
const agentRules = ['machines/', 'src/protocol/', 'src/agent/rules/', bundleRules, doctor, ...pureParts];
const types = [...agentRules, 'src/agent/config/settings.ts'];
const redaction = ['src/agent/secrets/', 'src/agent/journal/'];
const platform = 'src/platform/';

const layers: Record<string, Layer> = {
  machines: {
    files: ['machines/'],
    allowed: ['machines/', 'xstate'],
    reason: 'a reader of the machines needs nothing else, and tests run them without side effects',
  },
  protocol: {
    files: ['src/protocol/'],
    allowed: ['machines/', 'src/protocol/', 'ajv', 'yaml'],
    reason: 'agent and tenancy service both use it, so it depends on neither',
  },
  platform: {
    files: [platform],
    allowed: [platform, 'machines/fault.ts', 'node:', 'got'],
    reason: 'everything else uses it, so it depends on nothing else but the error class',
  },
  mesh: {
    files: ['src/mesh/'],
    allowed: ['src/mesh/', platform, 'node:', 'libsodium-wrappers'],
    reason: 'a library for OpenZiti that could be published alone',
  },
  rules: {
    files: ['src/agent/rules/'],
    allowed: [...agentRules, 'ajv'],
    reason: 'a decision is a pure function of its arguments: no disk, network, clock or configuration',
  },
  bundleRules: {
    files: [bundleRules],
    allowed: ['machines/', 'src/protocol/', bundleRules, ...pureParts, 'yaml', 'ajv'],
    reason: 'a bundle is judged in the same words by its hosts, at the door of the tenancy service and by deployctl',
  },
  bundle: {
    files: ['src/bundle/'],
    allowed: ['machines/', 'src/protocol/', 'src/bundle/', platform, 'node:', 'tar'],
    reason: 'agent, tenancy service and deployctl read and pack bundles in the same way',
  },
  doctor: {
    files: [doctor],
    allowed: [doctor, ...pureParts],
    reason: 'the doctor of each program makes these checks of the facts that it has',
  },
  configFiles: {
    files: ['src/config/'],
    allowed: ['src/config/', 'src/protocol/', platform, 'yaml', 'ajv'],
    reason: 'agent, tenancy service and deployctl load their configurations in the same way',
  },
  config: {
    files: ['src/agent/config/'],
    allowed: [...types, 'src/agent/config/', 'src/config/', platform],
    reason: 'the configuration is loaded before anything else exists',
  },
  secrets: {
    files: ['src/agent/secrets/'],
    allowed: [...types, 'src/agent/secrets/', 'node:'],
    reason: 'the vault holds every secret, so it must not reach anything that could leak them',
  },
  journal: {
    files: ['src/agent/journal/'],
    allowed: [...types, ...redaction, platform, 'node:', 'winston'],
    reason: 'every line passes the redactor',
  },
  adapters: {
    files: ['src/agent/adapters/'],
    allowed: [
      ...types,
      ...redaction,
      'src/agent/adapters/',
      'src/bundle/',
      'src/mesh/mesh.ts',
      platform,
      'node:',
      'got',
      'dockerode',
      'lockfile',
    ],
    reason: 'an adapter wraps one outside system and decides nothing, so it calls no service',
  },
  services: {
    files: ['src/agent/services/'],
    allowed: [
      ...types,
      ...redaction,
      'src/agent/adapters/',
      'src/agent/services/',
      'src/bundle/',
      platform,
      'node:',
      'xstate',
    ],
    reason: 'a service connects rules and adapters; libraries stay behind the adapters',
  },
  store: {
    files: ['src/tenancy/store/'],
    allowed: ['machines/', 'src/protocol/', 'src/tenancy/store/', 'node:', 'kysely', 'pg', 'jose'],
    reason: 'keeps what the tenancy service knows; the machine of a backend decides',
  },
  credentials: {
    files: ['src/tenancy/credentials/'],
    allowed: ['src/tenancy/credentials/', 'src/tenancy/store/', 'node:', 'jose'],
    reason: 'grants, leases and the keys that sign them; nothing else holds a private key',
  },
  tenancyConfig: {
    files: ['src/tenancy/config/'],
    allowed: ['src/tenancy/config/', 'src/config/', 'src/protocol/', platform],
    reason: 'the configuration is loaded before anything else exists',
  },
  tenancyRules: {
    files: ['src/tenancy/rules/'],
    allowed: [
      'machines/',
      'src/protocol/',
      'src/tenancy/rules/',
      bundleRules,
      doctor,
      ...pureParts,
      'src/tenancy/store/database.ts',
      'src/tenancy/credentials/secretstoreRoles.ts',
      'node:util',
    ],
    reason: 'a decision is a pure function of its arguments: no disk, network, clock or configuration',
  },
  tenancyAdapters: {
    files: ['src/tenancy/adapters/'],
    allowed: [
      'src/protocol/',
      'src/tenancy/adapters/',
      'src/tenancy/credentials/',
      'src/mesh/management/',
      'src/mesh/meshError.ts',
      platform,
      'node:',
      'got',
      '@aws-sdk/client-s3',
    ],
    reason: 'an adapter wraps one outside system and decides nothing, so it calls no service',
  },
  tenancyServices: {
    files: ['src/tenancy/services/'],
    allowed: ['machines/', 'src/protocol/', 'src/bundle/', 'src/tenancy/', platform, 'node:'],
    reason: 'a service connects store, rules and adapters; libraries stay behind them',
  },
  tenancyHttp: {
    files: ['src/tenancy/http/'],
    allowed: [
      'machines/',
      'src/protocol/',
      'src/tenancy/',
      platform,
      'node:',
      'fastify',
      '@fastify/swagger',
      'typebox',
      'ajv',
    ],
    reason: 'a route checks who calls and what, and calls one service',
  },
  tenancyWiring: {
    files: [
      'src/tenancy/createTenancy.ts',
      'src/tenancy/connectPeers.ts',
      'src/tenancy/createLog.ts',
      'src/tenancy/commands/',
    ],
    allowed: ['machines/', 'src/', 'package.json', 'node:'],
    reason: 'the composition root and the commands; libraries stay behind the adapters',
  },
  ctl: {
    files: ['src/ctl/'],
    allowed: [
      'machines/',
      'src/protocol/',
      'src/bundle/',
      'src/config/',
      'src/ctl/',
      'src/version.ts',
      platform,
      'node:',
      'got',
      'commander',
    ],
    reason: 'a client of the HTTP interface, which knows nothing of the service behind it',
  },
  wiring: {
    files: ['src/agent/createAgent.ts', 'src/version.ts', 'src/agent/commands/'],
    allowed: ['machines/', 'src/', 'package.json', 'node:', 'xstate'],
    reason: 'the composition root and the commands; libraries stay behind the adapters',
  },
  cli: {
    files: ['src/agent/cli.ts', 'src/tenancy/cli.ts', 'src/commandLine.ts'],
    allowed: ['machines/', 'src/', 'node:', 'commander'],
    reason: 'the command line is the outermost layer',
  },
};

/** Files of the outer layers, and who may import them. */
const outerLayers = [
  { files: 'src/agent/cli', importers: [], reason: 'the command line is the outermost layer' },
  {
    files: 'src/agent/createAgent.ts',
    importers: ['src/agent/cli.ts', 'src/agent/commands/'],
    reason: 'the composition root is the only place that creates adapters and services',
  },
  {
    files: 'src/agent/services/',
    importers: ['src/agent/services/', 'src/agent/createAgent.ts', 'src/agent/commands/'],
    reason: 'machines name services, they do not import them',
  },
  { files: 'fixtures/', importers: [], reason: 'test support is not part of the package' },
];

/** The only files that may import a library, so that it can be replaced in one place. */
const libraryOwners: Record<string, string[]> = {
  xstate: ['machines/', 'src/agent/services/index.ts', 'src/agent/commands/'],
  'libsodium-wrappers': ['src/mesh/router/secretStream.ts'],
  got: ['src/agent/adapters/http/gotClient.ts', 'src/platform/http/jsonClient.ts', 'src/ctl/api/gotClient.ts'],
  dockerode: ['src/agent/adapters/engine/'],
  tar: ['src/bundle/'],
  lockfile: ['src/agent/adapters/state/lock.ts'],
  winston: ['src/agent/journal/'],
  commander: ['src/agent/cli.ts', 'src/tenancy/cli.ts', 'src/commandLine.ts', 'src/ctl/'],
  fastify: ['src/tenancy/http/'],
  '@fastify/swagger': ['src/tenancy/http/'],
  typebox: ['src/tenancy/http/'],
  '@aws-sdk/client-s3': ['src/tenancy/adapters/bundles/'],
  kysely: ['src/tenancy/store/'],
  'kysely/migration': ['src/tenancy/store/'],
  pg: ['src/tenancy/store/openStore.ts', 'src/tenancy/store/postgresClient.ts'],
  jose: ['src/tenancy/credentials/', 'src/tenancy/store/database.ts'],
  ajv: ['src/config/', 'src/agent/rules/', 'src/bundle/rules/', 'src/protocol/', 'src/tenancy/http/validators.ts'],
  yaml: ['src/config/', 'src/bundle/rules/', 'src/protocol/'],
};

const libraries = sourceImports.filter(({ to }) => !isOwnFile(to) && !to.startsWith('node:'));

it('assigns every source file to a layer', () => {
  expect(sourceFiles.length).toBeGreaterThan(50);
  expect(sourceFiles.filter((file) => layerOf(file) === undefined)).toEqual([]);
});

it.each(Object.entries(layers).map(([name, layer]) => ({ name, ...layer })))('$name: $reason', ({ name, allowed }) => {
  const own = sourceImports.filter(({ from }) => layerOf(from) === name);
  expect(formatImports(own.filter(({ to }) => !begins(to, allowed)))).toEqual([]);
});

it.each(outerLayers)('$files is imported only from above: $reason', ({ files, importers }) => {
  expect(
    formatImports(sourceImports.filter(({ from, to }) => begins(to, [files]) && !begins(from, importers))),
  ).toEqual([]);
});

it.each(Object.entries(libraryOwners))('%s is imported by its owners only', (library, owners) => {
  const violations = libraries.filter(({ from, to }) => to === library && !begins(from, owners));
  expect(formatImports(violations)).toEqual([]);
});

it('imports no library without an owner', () => {
  expect(formatImports(libraries.filter(({ to }) => !(to in libraryOwners)))).toEqual([]);
});

it('an adapter imports one library at most', () => {
  const adapters = Object.groupBy(
    libraries.filter(({ from }) => begins(from, ['src/agent/adapters/'])),
    ({ from }) => from,
  );
  expect(Object.entries(adapters).filter(([, own]) => new Set(own!.map(({ to }) => to)).size > 1)).toEqual([]);
});

it('has no import cycle', () => {
  expect(sourceFiles.flatMap((file) => cycleFrom(file) ?? [])).toEqual([]);
});

function layerOf(file: string): string | undefined {
  return Object.entries(layers).find(([, { files }]) => begins(file, files))?.[0];
}

function begins(path: string, starts: string[]): boolean {
  return starts.some((start) => path.startsWith(start));
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

function formatImports(banned: readonly Import[]): string[] {
  return banned.map(({ from, to }) => `${from} imports ${to}`);
}
