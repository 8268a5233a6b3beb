import { rename } from 'node:fs/promises';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { loadBrowserProgram } from '../src/tenancy/http/servedPrograms.ts';
import { stubPlugin } from './program/stubPlugin.ts';
import { runScript } from './userError.ts';
import { bundleWorker, consolePlugin, validatorPlugin, workerPlugin } from './program/plugins.ts';

/** Ends a program with a clear line on a Node.js that lacks its parts; the directive must stay the first statement. */
const bannerOf = (program: string, least: number, exit: number) => ({
  js: `#!/usr/bin/env node
"use strict";
if (parseInt(process.version.slice(1)) < ${least}) {
  console.error("${program} needs Node.js ${least} or newer; this is " + process.version);
  process.exit(${exit});
}`,
});

/** esbuild options that bundle the agent into one file without dependencies except Node. */
export const bundleOptions = {
  entryPoints: ['src/agent/cli.ts'],
  outfile: 'dist/deployd.cjs',
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  define: { 'import.meta.main': 'true', 'process.env.NODE_ENV': '"production"' },
  // the executable's loader supports `require` only
  supported: { 'dynamic-import': false },
  // ES modules, of which only what is used gets into the bundle
  alias: Object.fromEntries(
    ['otlp-transformer', 'core'].map((part) => [`@opentelemetry/${part}`, `@opentelemetry/${part}/build/esm/index.js`]),
  ),
  minifySyntax: true,
  banner: bannerOf('deployd', 24, 78),
  plugins: [stubPlugin, validatorPlugin, consolePlugin, workerPlugin],
  logLevel: 'warning',
} satisfies BuildOptions;

/** esbuild options that bundle deployctl into one file, which pipelines run on a Node of theirs, 20 or newer. */
export const ctlBundleOptions = {
  ...bundleOptions,
  entryPoints: ['src/deployctl/cli.ts'],
  outfile: 'dist/deployctl.cjs',
  target: 'node20',
  banner: bannerOf('deployctl', 20, 2),
} satisfies BuildOptions;

/** esbuild options that bundle the tenancy service into one file, as which tests start it: in a fifth of the time. */
export const tenancyBundleOptions = {
  ...bundleOptions,
  entryPoints: ['src/tenancy/cli.ts'],
  outfile: 'dist/deployd-tenancy.cjs',
  banner: bannerOf('deployd-tenancy', 24, 78),
} satisfies BuildOptions;

/** A program's bundle for its package. */
export interface ProgramBundle {
  /** A function of `exports, require, module, __filename, __dirname`; ASCII only, which V8 loads fastest. */
  source: string;
  /** Every bundled file, relative to the repository. */
  inputs: string[];
}

/** Bundles a program for the package: without comments and whitespace; names are kept for stack traces. */
export async function bundleProgram(entry: string, plugins: Plugin[] = []): Promise<ProgramBundle> {
  const options = {
    ...bundleOptions,
    entryPoints: [entry],
    plugins: [...plugins, ...bundleOptions.plugins],
    banner: {},
    minifyWhitespace: true,
    legalComments: 'none',
    write: false,
    metafile: true,
  } satisfies BuildOptions;
  const { outputFiles, metafile } = await build(options);
  const text = outputFiles.map((file) => file.text).join('');
  const source = `(function(exports,require,module,__filename,__dirname){${escapeNonAscii(text)}\n})`;
  const files = Object.keys(metafile.inputs);
  const isService = files.some((file) => file.endsWith('tenancy/http/servedPrograms.ts'));
  const browserFiles = isService ? (await loadBrowserProgram()).inputs : [];
  const workerFiles = isService ? (await bundleWorker(bundleOptions)).inputs : [];
  return { source, inputs: [...new Set([...files, ...browserFiles, ...workerFiles])].sort() };
}

/** Non-ASCII characters remain only in strings and regular expressions, where an escape means the same. */
function escapeNonAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Replaces the file atomically, because another process may be running it. */
async function writeBundle(options: BuildOptions & { outfile: string }): Promise<void> {
  const outfile = `${options.outfile}.${process.pid}`;
  await build({ ...options, outfile });
  await rename(outfile, options.outfile);
}

if (import.meta.main)
  await runScript(async () => {
    await Promise.all([bundleOptions, ctlBundleOptions, tenancyBundleOptions].map(writeBundle));
  });
