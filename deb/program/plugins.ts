import { fileURLToPath } from 'node:url';
import { Ajv, type ValidateFunction } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { loadBrowserProgram, loadHostScripts } from '../../src/tenancy/http/servedPrograms.ts';

const schemaCompiler = new Ajv({ code: { source: true, esm: true } });
const formats = fileURLToPath(import.meta.resolve('../../src/core/text.rules.ts'));

/** Bundles the console and the scripts for hosts at bundle time: the module that would do it later becomes its results. */
export const consolePlugin: Plugin = {
  name: 'console',
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/tenancy\/http\/servedPrograms\.ts$/ }, async () => {
      const programs = { loadBrowserProgram: await loadBrowserProgram(), loadHostScripts: await loadHostScripts() };
      const lines = Object.entries(programs).map(
        ([name, program]) => `export const ${name} = async () => (${JSON.stringify(program)});`,
      );
      return { contents: lines.join('\n'), loader: 'js' };
    });
  },
};

/**
 * Bundles the program of threads at bundle time: the module that starts them gets it as a text, because the executable of
 * a package has no other files.
 */
export const workerPlugin: Plugin = {
  name: 'worker',
  setup: (bundler) => {
    bundler.onResolve({ filter: /\/archiveTasks\.ts$/ }, ({ path, importer }) =>
      importer.endsWith('/tenancy/bundles/archiveWorkers.ts') ? { path, namespace: 'worker' } : null,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'worker' }, async () => {
      const { text } = await bundleWorker(bundler.initialOptions);
      return { contents: `export const archiveProgram = ${JSON.stringify(text)};`, loader: 'js' };
    });
  },
};

/** Bundles the program of threads by the options of the program that starts them; returns its text and all its files. */
export async function bundleWorker({ plugins = [], ...options }: BuildOptions) {
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: ['src/tenancy/bundles/archiveTasks.ts'],
    define: { ...options.define, 'import.meta.url': '"file:///"' },
    banner: {},
    minifyWhitespace: true,
    legalComments: 'none',
    plugins: plugins.filter(({ name }) => name !== workerPlugin.name),
    write: false,
    metafile: true,
  });
  return { text: outputFiles.map(({ text }) => text).join(''), inputs: Object.keys(metafile.inputs) };
}

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
