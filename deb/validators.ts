import { Ajv, type ValidateFunction } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import type { Plugin } from 'esbuild';

const writer = new Ajv({ code: { source: true, esm: true } });

/**
 * Compiles the schemas when the agent is bundled, since a tick has no time for it: whatever `…Validator.ts` exports as
 * `validate` becomes the code that ajv made of it, and ajv itself stays behind.
 */
export const validators: Plugin = {
  name: 'validators',
  setup: (bundler) => {
    bundler.onLoad({ filter: /Validator\.ts$/ }, async ({ path }) => {
      const { validate } = (await import(path)) as { validate: ValidateFunction };
      return { contents: standalone.default(writer, validate), loader: 'js' };
    });
  },
};
