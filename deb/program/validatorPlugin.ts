import { Ajv, type ValidateFunction } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import type { Plugin } from 'esbuild';

const schemaCompiler = new Ajv({ code: { source: true, esm: true } });

/**
 * Compiles the JSON schemas at bundle time, which would be too slow in a tick: the export `validate` of each `…Validator.ts`
 * becomes the code that ajv generated, and ajv itself is not bundled.
 */
export const validatorPlugin: Plugin = {
  name: 'validators',
  setup: (bundler) => {
    bundler.onLoad({ filter: /Validator\.ts$/ }, async ({ path }) => {
      const { validate } = (await import(path)) as { validate: ValidateFunction };
      return { contents: standalone.default(schemaCompiler, validate), loader: 'js' };
    });
  },
};
