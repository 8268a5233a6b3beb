import { Ajv, type ValidateFunction } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import type { Plugin } from 'esbuild';

const schemaCompiler = new Ajv({ code: { source: true, esm: true } });

/**
 * Compiles the JSON schemas at bundle time, which would be too slow in a tick: the validators that a `…Validator.ts` exports, or
 * a `…Validators.ts` by one compiler, become the code that ajv generated, and ajv itself is not bundled.
 */
export const validatorPlugin: Plugin = {
  name: 'validators',
  setup: (bundler) => {
    bundler.onLoad({ filter: /Validators?\.ts$/ }, async ({ path }) => {
      const validators = (await import(path)) as Record<string, ValidateFunction>;
      const getSchema = (name: string) => validators[name];
      const compiled = Object.assign(Object.create(schemaCompiler) as Ajv, { getSchema });
      const names = Object.fromEntries(Object.keys(validators).map((name) => [name, name]));
      return { contents: standalone.default(compiled, names), loader: 'js' };
    });
  },
};
