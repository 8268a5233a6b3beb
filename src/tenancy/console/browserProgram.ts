import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build } from 'esbuild';

/** The console as served to browsers. */
export interface BrowserProgram {
  script: string;
  style: string;
  /** Changes when the script or the style sheet changes. */
  version: string;
  /** Every bundled file, relative to the repository. */
  inputs: string[];
}

/**
 * Bundles src/console into one script and one style sheet. The package replaces this module with its result
 * (deb/program/plugins.ts), so that a server bundles nothing.
 */
export async function loadBrowserProgram(): Promise<BrowserProgram> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: join(import.meta.dirname, '../../..'),
    entryPoints: ['src/console/main.ts', 'src/console/style.css'],
    outdir: 'console',
    bundle: true,
    format: 'iife',
    target: ['chrome120', 'firefox121', 'safari17.2'],
    loader: { '.svg': 'text' },
    minify: true,
    write: false,
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const textOf = (name: string) => outputFiles.find(({ path }) => path.endsWith(name))?.text ?? '';
  const [script, style] = [textOf('main.js'), textOf('style.css')];
  const version = createHash('sha256').update(script).update(style).digest('hex').slice(0, 16);
  return { script, style, version, inputs: Object.keys(metafile.inputs).sort() };
}
