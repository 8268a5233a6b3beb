import { rename } from 'node:fs/promises';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { lean } from './lean.ts';
import { carryOut } from './mishap.ts';
import { validators } from './validators.ts';

/** How the agent becomes one file that needs nothing but the runtime. */
export const options = {
  entryPoints: ['src/agent/cli.ts'],
  outfile: 'dist/deployd.cjs',
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  define: { 'import.meta.main': 'true', 'process.env.NODE_ENV': '"production"' },
  // the executable's loader knows `require` only
  supported: { 'dynamic-import': false },
  minifySyntax: true,
  banner: { js: '#!/usr/bin/env node' },
  plugins: [lean, validators],
  logLevel: 'warning',
} satisfies BuildOptions;

/** The agent as the package carries it. */
export interface Bundle {
  /** A function of `exports, require, module, __filename, __dirname`; nothing but ASCII, so that it loads fastest. */
  source: string;
  /** Every file that went into it, relative to the tree. */
  inputs: string[];
}

/** Bundles a program for the package: without comments and blanks, its names kept for the stacks of crashes. */
export async function bundleOf(entry: string, plugins: Plugin[] = []): Promise<Bundle> {
  const how = {
    ...options,
    entryPoints: [entry],
    plugins: [...plugins, ...options.plugins],
    banner: {},
    minifyWhitespace: true,
    legalComments: 'none',
    write: false,
    metafile: true,
  } satisfies BuildOptions;
  const { outputFiles, metafile } = await build(how);
  const text = outputFiles.map((file) => file.text).join('');
  const source = `(function(exports,require,module,__filename,__dirname){${asciiOf(text)}\n})`;
  return { source, inputs: Object.keys(metafile.inputs).sort() };
}

/** What is left beyond ASCII stands in strings and regular expressions, where an escape means the same. */
function asciiOf(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** In one move, for others may be running the file that is there. */
async function write(): Promise<void> {
  const outfile = `${options.outfile}.${process.pid}`;
  await build({ ...options, outfile });
  await rename(outfile, options.outfile);
}

if (import.meta.main) await carryOut(write);
