import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build } from 'esbuild';
import { readRegularFile } from '../../core/files.ts';

/** The console as served to browsers. */
export interface BrowserProgram {
  script: string;
  style: string;
  /** Changes when the script or the style sheet changes. */
  version: string;
  /** Every bundled file, relative to the repository. */
  inputs: string[];
}

const repository = join(import.meta.dirname, '../../..');

/**
 * Returns the script that adds a host, and the installer that it runs. The package replaces this module with its results
 * (deb/program/plugins.ts).
 */
export async function loadHostScripts(): Promise<{ script: string; installer: string }> {
  const read = (name: string) => readRegularFile(join(repository, 'install', name)).toString('utf8');
  return { script: read('host.sh'), installer: read('install.sh') };
}

/** Bundles src/console into one script and one style sheet, so that a server of the package bundles nothing. */
export async function loadBrowserProgram(): Promise<BrowserProgram> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: repository,
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
