import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** A file of the package. */
export type PayloadFile = { text: string; gzip?: true } | { from: string };

/** The package's files by absolute path on the host. */
export type Payload = Record<string, PayloadFile>;

const here = import.meta.dirname;

/** Files of the tenancy service's package that are installed unchanged. */
export function tenancyPayload(): Payload {
  const config = { from: join(here, 'tenancy', 'config.yaml') };
  return {
    ...filesBelow('tenancy/units', '/usr/lib/systemd/system'),
    '/usr/lib/sysusers.d/deployd-tenancy.conf': { from: join(here, 'tenancy', 'sysusers.conf') },
    '/usr/lib/tmpfiles.d/deployd-tenancy.conf': { from: join(here, 'tenancy', 'tmpfiles.conf') },
    '/usr/share/doc/deployd-tenancy/examples/config.yaml': config,
  };
}

/** The maintainer scripts of the tenancy service's package. */
export function tenancyScripts(): Payload {
  return filesBelow('tenancy/scripts', '/');
}

/** The maintainer scripts, by path in the control archive. */
export function maintainerScripts(): Payload {
  return filesBelow('scripts', '/');
}

/**
 * Files that are installed unchanged: units and their drop-ins, the scripts that they call, sysusers and tmpfiles, and
 * the message at sign-in.
 */
export function staticPayload(): Payload {
  return {
    ...filesBelow('units', '/usr/lib/systemd/system'),
    ...filesBelow('user-units', '/usr/lib/systemd/user'),
    ...filesBelow('share', '/usr/share/deployd'),
    '/usr/lib/sysusers.d/deployd.conf': { from: join(here, 'sysusers.conf') },
    '/usr/lib/tmpfiles.d/deployd.conf': { from: join(here, 'tmpfiles.conf') },
    '/etc/update-motd.d/60-deployd': { from: join(here, 'motd.sh') },
  };
}

function filesBelow(dir: string, target: string): Payload {
  const files = globSync('**', { cwd: join(here, dir), withFileTypes: true }).filter((entry) => entry.isFile());
  const sources = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(sources.map((from) => [join(target, relative(join(here, dir), from)), { from }]));
}

/** Writes the files below `root`; programs get mode 0755, all others 0644. */
export async function writePayload(root: string, payload: Payload): Promise<void> {
  for (const [path, content] of Object.entries(payload)) {
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    if ('from' in content) await copyFile(content.from, target);
    else await writeFile(target, content.gzip ? gzip(content.text) : content.text);
    await chmod(target, isExecutable(path) ? 0o755 : 0o644);
  }
}

function gzip(text: string): Buffer {
  return execFileSync('gzip', ['--best', '--no-name'], { input: text });
}

function isExecutable(path: string): boolean {
  return ['/usr/bin', '/etc/update-motd.d'].includes(dirname(path)) || path.endsWith('.sh');
}
