import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** A file of the package. */
export type Content = { text: string; gzip?: true } | { from: string };

/** Files by their absolute path on the host. */
export type Payload = Record<string, Content>;

const here = import.meta.dirname;

/** The maintainer scripts, as they stand in the control archive. */
export function maintainerScripts(): Payload {
  return below('scripts', '/');
}

/** What stands in the tree as the host gets it: the units and their drop-ins, what they call, the user, the directories. */
export function fixedPayload(): Payload {
  return {
    ...below('units', '/usr/lib/systemd/system'),
    ...below('share', '/usr/share/deployd'),
    '/usr/lib/sysusers.d/deployd.conf': { from: join(here, 'sysusers.conf') },
    '/usr/lib/tmpfiles.d/deployd.conf': { from: join(here, 'tmpfiles.conf') },
  };
}

function below(dir: string, target: string): Payload {
  const files = globSync('**', { cwd: join(here, dir), withFileTypes: true }).filter((entry) => entry.isFile());
  const sources = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(sources.map((from) => [join(target, relative(join(here, dir), from)), { from }]));
}

/** Writes the files below `root`; programs are 0755, everything else 0644. */
export async function layTree(root: string, payload: Payload): Promise<void> {
  for (const [path, content] of Object.entries(payload)) {
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    if ('from' in content) await copyFile(content.from, target);
    else await writeFile(target, content.gzip ? gzip(content.text) : content.text);
    await chmod(target, isProgram(path) ? 0o755 : 0o644);
  }
}

function gzip(text: string): Buffer {
  return execFileSync('gzip', ['--best', '--no-name'], { input: text });
}

function isProgram(path: string): boolean {
  return dirname(path) === '/usr/bin' || path.endsWith('.sh');
}
