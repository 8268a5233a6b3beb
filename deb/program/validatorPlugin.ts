import { fileURLToPath } from 'node:url';
import { Ajv, type ValidateFunction } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import type { Plugin } from 'esbuild';

const schemaCompiler = new Ajv({ code: { source: true, esm: true } });
const formats = fileURLToPath(import.meta.resolve('../../src/core/text.rules.ts'));

/**
 * Evaluates schemas at bundle time, which would be too slow in a tick. The validators that a `…Validator.ts` or a
 * `…Validators.ts` exports become the code that ajv generated, and the table of a `configKeys.ts` becomes JSON, so that neither
 * ajv nor typebox is bundled.
 */
export const validatorPlugin: Plugin = {
  name: 'validators',
  setup: (bundler) => {
    bundler.onLoad({ filter: /Validators?\.ts$/ }, async ({ path }) => ({ contents: codeOf(await exportsOf(path)) }));
    bundler.onLoad({ filter: /\/configKeys\.ts$/ }, async ({ path }) => ({ contents: jsonOf(await exportsOf(path)) }));
  },
};

function exportsOf(path: string): Promise<Record<string, unknown>> {
  return import(path) as Promise<Record<string, unknown>>;
}

function codeOf(exported: Record<string, unknown>): string {
  const isValidator = (name: string) => typeof exported[name] === 'function';
  const names = Object.keys(exported).filter(isValidator);
  const getSchema = (name: string) => exported[name] as ValidateFunction;
  const compiled = Object.assign(Object.create(schemaCompiler) as Ajv, { getSchema });
  const code = standalone.default(compiled, Object.fromEntries(names.map((name) => [name, name])));
  return `import { formats } from ${JSON.stringify(formats)};\n${code}`;
}

function jsonOf(exported: Record<string, unknown>): string {
  return Object.entries(exported)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
    .join('\n');
}
