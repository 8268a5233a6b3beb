import { build, type BuildOptions, type Plugin } from 'esbuild';

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
