import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { controlOf, md5sumsOf } from './control.ts';
import type { Edition } from './edition.ts';
import { layTree, type Payload } from './tree.ts';

/** What a package is made of. */
export interface Recipe extends Edition {
  payload: Payload;
  /** The relations that its program's libraries ask for. */
  libraries: string;
  /** Its maintainer scripts, `/postinst` and so on. */
  scripts: Payload;
  /** Of xz; 1 is fast. */
  level?: number;
}

const run = promisify(execFile);

/** Makes a package; the same recipe gives the same bytes, wherever, whenever and by whomever. */
export async function pack(output: string, { payload, scripts, level = 6, ...recipe }: Recipe): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'deployd-tree-'));
  try {
    await layTree(root, payload);
    const control = join(root, 'DEBIAN');
    await layTree(control, scripts);
    await Promise.all(Object.keys(scripts).map((script) => chmod(join(control, script), 0o755)));
    const paths = Object.keys(payload).sort();
    const sizes = await Promise.all(paths.map(async (path) => Math.ceil((await stat(join(root, path))).size / 1024)));
    const installedSize = sizes.reduce((sum, size) => sum + size, 0);
    await layTree(control, {
      '/control': { text: controlOf({ ...recipe, installedSize }) },
      '/md5sums': { text: await md5sumsOf(root, paths) },
    });
    await even(root, recipe.date);
    const how = ['--root-owner-group', '--uniform-compression', '-Zxz', `-z${level}`, '--threads-max=2'];
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(recipe.date.getTime() / 1000) };
    await run('dpkg-deb', [...how, '--build', root, output], { env });
  } finally {
    await rm(root, { recursive: true });
  }
}

/** Takes away what depends on the umask and the clock. */
async function even(root: string, date: Date): Promise<void> {
  await run('find', [root, '-type', 'd', '-exec', 'chmod', '0755', '{}', '+']);
  await run('find', [root, '-exec', 'touch', '--no-dereference', '--date', date.toISOString(), '{}', '+']);
}
