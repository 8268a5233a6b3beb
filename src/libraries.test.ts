import { readFileSync } from 'node:fs';
import {
  begins,
  formatImports,
  isOwnFile,
  sourceFiles,
  sourceImports,
} from '../fixtures/tools/architecture/imports.ts';

/** The only files that may import a library, so that it can be replaced in one place. */
const libraryOwners: Record<string, string[]> = {
  xstate: ['machines/', 'src/agent/createAgent.ts', 'src/agent/run.ts'],
  'libsodium-wrappers': ['src/mesh/secretStream.ts', 'src/signatures/sign/privateKey.ts'],
  got: ['src/core/httpClient.ts'],
  'https-proxy-agent': ['src/deployctl/core/proxyAgents.ts'],
  ignore: ['src/bundle/archive/leftOut.rules.ts'],
  dockerode: ['src/agent/engine/'],
  tar: ['src/bundle/archive/'],
  lockfile: ['src/agent/state/lock.ts'],
  winston: ['src/agent/journal/'],
  commander: ['src/agent/cli.ts', 'src/tenancy/cli.ts', 'src/core/commandLine.ts', 'src/deployctl/'],
  fastify: ['src/tenancy/'],
  '@fastify/fast-json-stringify-compiler': ['src/tenancy/http/validators.ts'],
  '@fastify/swagger': ['src/tenancy/server/'],
  typebox: [
    ...[
      'src/tenancy/',
      'src/api/',
      'src/core/config/',
      'src/core/compileSchema.ts',
      'src/signatures/signatureValidators.ts',
    ],
    ...['src/agent/state/stateValidator.ts', 'src/agent/release/releaseRecordValidator.ts'],
    ...['src/agent/token/tokenValidators.ts', 'src/bundle/archive/inventoryValidator.ts'],
  ],
  'lit-html': ['src/console/'],
  '@peculiar/asn1-schema': ['src/tenancy/keys/ownAuthority.ts'],
  '@peculiar/asn1-x509': ['src/tenancy/keys/ownAuthority.ts'],
  esbuild: ['src/tenancy/http/servedPrograms.ts'],
  '@aws-sdk/client-s3': ['src/tenancy/peers/bundleBucket.ts'],
  '@aws-sdk/s3-request-presigner': ['src/tenancy/peers/bundleBucket.ts'],
  kysely: ['src/tenancy/store/'],
  'kysely/migration': ['src/tenancy/store/'],
  pg: ['src/tenancy/store/openStore.ts'],
  'openid-client': ['src/tenancy/peers/identityProvider.ts'],
  jose: ['src/tenancy/keys/', 'src/tenancy/store/database.ts'],
  '@opentelemetry/api': ['src/core/sendSpans.ts'],
  '@opentelemetry/otlp-transformer': ['src/core/sendSpans.ts'],
  '@sigstore/bundle': ['src/signatures/'],
  '@sigstore/core': ['src/signatures/'],
  '@sigstore/protobuf-specs': ['src/signatures/'],
  '@sigstore/verify': ['src/signatures/'],
  ajv: [
    ...['src/core/compileSchema.ts', 'src/core/config/', 'src/tenancy/http/validators.ts'],
    ...['src/signatures/readSignature.ts', 'src/api/manifest.rules.ts'],
  ],
  yaml: ['src/core/config/', 'src/bundle/'],
};

const libraries = sourceImports.filter(({ to }) => !isOwnFile(to) && !to.startsWith('node:'));

it.each(Object.entries(libraryOwners))('%s is imported by its owners only', (library, owners) => {
  const violations = libraries.filter(({ from, to }) => to === library && !begins(from, owners));
  expect(formatImports(violations)).toEqual([]);
});

it('imports no library without an owner', () => {
  expect(formatImports(libraries.filter(({ to }) => !(to in libraryOwners)))).toEqual([]);
});

it('sends requests by node:http only in the files with a measured reason (adr/0019)', () => {
  const sends = /import \{[^}]*\brequest\b[^}]*\} from 'node:https?'|\bhttps?\.(?:request|get)\(/;
  const files = sourceFiles.filter((file) => sends.test(readFileSync(file, 'utf8')));
  expect(files).toEqual(['src/agent/engine/engineApi.ts', 'src/core/nodeClient.ts']);
});

it('makes connections by one connector, and allows slow ones in every program', () => {
  const filesWith = (text: RegExp) => sourceFiles.filter((file) => text.test(readFileSync(file, 'utf8')));
  expect(filesWith(/new Https?Agent\(|extends Https?Agent|\btls\.connect\(|\btlsConnect\(/)).toEqual([
    'src/agent/transport/transport.ts',
    'src/core/connector.ts',
    'src/mesh/channel.ts',
  ]);
  const programs = filesWith(/^if \(import\.meta\.main\)/m);
  expect(programs).toEqual(filesWith(/^ {2}allowSlowConnections\(\);$/m));
  expect(programs).toHaveLength(3);
});

it('a file of the agent imports one library at most', () => {
  const adapters = Object.groupBy(
    libraries.filter(({ from }) => begins(from, ['src/agent/transport/', 'src/agent/engine/', 'src/agent/state/'])),
    ({ from }) => from,
  );
  expect(Object.entries(adapters).filter(([, own]) => new Set(own!.map(({ to }) => to)).size > 1)).toEqual([]);
});
