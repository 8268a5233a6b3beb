import type { Plugin } from 'esbuild';
import { loadBrowserProgram } from '../../src/tenancy/console/browserProgram.ts';

/** Bundles the console at bundle time: the module that would do it when the service starts becomes its result. */
export const consolePlugin: Plugin = {
  name: 'console',
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/tenancy\/console\/browserProgram\.ts$/ }, async () => {
      const program = JSON.stringify(await loadBrowserProgram());
      return { contents: `export const loadBrowserProgram = async () => (${program});`, loader: 'js' };
    });
  },
};
