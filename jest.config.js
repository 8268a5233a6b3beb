import { availableParallelism } from 'node:os';

/** A suite is a project: `--selectProjects NAME` runs it (see package.json). The kind of a test stands in its file name. */
const suite = (displayName, testMatch, more = {}) => ({
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  testPathIgnorePatterns: ['/node_modules/'],
  testEnvironment: '<rootDir>/fixtures/jest/processEnvironment.ts',
  testRunner: '<rootDir>/fixtures/jest/nodeRunner.ts',
  transform: {},
  ...more,
});

const withEngine = {
  globalSetup: '<rootDir>/fixtures/engine/before.mjs',
  globalTeardown: '<rootDir>/fixtures/engine/after.mjs',
};

export default {
  projects: [
    suite('fast', ['{machines,src,fixtures,install,deb}/**/*.test.ts'], {
      testPathIgnorePatterns: [
        '/node_modules/',
        '\\.(arm64|engine|package|play|browser|peer|leak)\\.test\\.ts$',
        '/fixtures/(disk|fuzz|network)/',
      ],
    }),
    suite('engine', ['{src,fixtures,install,deb}/**/*.engine.test.ts'], withEngine),
    suite('disk', ['fixtures/disk/**/*.test.ts']),
    suite('fuzz', ['fixtures/fuzz/**/*.test.ts', 'src/**/*.leak.test.ts']),
    suite('network', ['fixtures/network/**/*.test.ts']),
    suite('package', ['{fixtures,install,deb,roles}/**/*.package.test.ts'], withEngine),
    suite('play', ['fixtures/ansible/**/*.play.test.ts'], withEngine),
    suite('arm64', ['deb/**/*.arm64.test.ts']),
    suite('peer', ['fixtures/**/*.peer.test.ts'], withEngine),
    suite('browser', ['{src,fixtures}/**/*.browser.test.ts']),
  ],
  testTimeout: 120_000,
  // Tests wait as well as work: one more than there are processors.
  maxWorkers: availableParallelism() + 1,
};
