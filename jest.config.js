import { availableParallelism } from 'node:os';
import { restingSuites } from './fixtures/world/sampling/turns.ts';

const resting = restingSuites(process.env);

/** A suite is a project: `--selectProjects NAME` runs it (see package.json). The kind of a test stands in its file name. */
const suite = (displayName, testMatch, more = {}) => ({
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  testPathIgnorePatterns: ['/node_modules/', ...resting],
  testEnvironment: '<rootDir>/fixtures/world/jest/environment.mjs',
  testEnvironmentOptions: { customExportConditions: ['node', 'node-addons', 'development'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/fixtures/world/jest/stripTypes.mjs' },
  ...more,
});

const withEngine = {
  globalSetup: '<rootDir>/fixtures/world/engine/before.mjs',
  globalTeardown: '<rootDir>/fixtures/world/engine/after.mjs',
};

for (const file of resting) process.stderr.write(`not drawn by SEED=${process.env.SEED}: ${file}\n`);

export default {
  projects: [
    suite('fast', ['{machines,src,fixtures,install,deb}/**/*.test.ts'], {
      testPathIgnorePatterns: [
        '/node_modules/',
        ...resting,
        '\\.(arm64|engine|package|play|browser|peer|leak)\\.test\\.ts$',
        '/fixtures/suites/(disk|fuzz|network)/',
      ],
    }),
    suite('engine', ['{src,fixtures,install,deb}/**/*.engine.test.ts'], withEngine),
    suite('disk', ['fixtures/suites/disk/**/*.test.ts']),
    suite('fuzz', ['fixtures/suites/fuzz/**/*.test.ts', 'src/**/*.leak.test.ts']),
    suite('network', ['fixtures/suites/network/**/*.test.ts']),
    suite('package', ['{fixtures,install,deb,roles}/**/*.package.test.ts'], withEngine),
    suite('play', ['fixtures/suites/ansible/**/*.play.test.ts'], withEngine),
    suite('arm64', ['deb/**/*.arm64.test.ts']),
    suite('peer', ['fixtures/**/*.peer.test.ts'], withEngine),
    suite('browser', ['{src,fixtures}/**/*.browser.test.ts']),
  ],
  testTimeout: 120_000,
  // Tests wait as well as work: one more than there are processors.
  maxWorkers: availableParallelism() + 1,
};
