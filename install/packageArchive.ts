import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stubProgram } from './stubPrograms.ts';
import { writeWithMode } from './writeWithMode.ts';

const call = promisify(execFile);

/** An installed package for the installer: a `.deb` and its checksum. */
export async function makePackage(
  version: string,
  { installedKiB = 8, architecture = 'amd64' } = {},
): Promise<{ deb: Buffer; sha256: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'deployd-deb-'));
  const tree = join(dir, 'root');
  await writeWithMode(join(tree, 'DEBIAN/control'), control(version, { installedKiB, architecture }));
  await writeWithMode(join(tree, 'DEBIAN/postinst'), postinst, 0o755);
  await writeWithMode(join(tree, 'usr/share/deployd/identity-acl.sh'), stubProgram(''), 0o755);
  for (const name of ['start-unit.sh', 'enable-timer.sh', 'enrol.sh', 'undo.sh'])
    await writeWithMode(join(tree, 'usr/share/deployd', name), await readFile(join('deb/share', name), 'utf8'), 0o755);
  const file = join(dir, 'out.deb');
  await call('dpkg-deb', ['--root-owner-group', '-z1', '--build', tree, file]);
  const deb = await readFile(file);
  await rm(dir, { recursive: true });
  return { deb, sha256: createHash('sha256').update(deb).digest('hex') };
}

const postinst = `#!/bin/sh
mkdir -p /etc/deployd /var/lib/deployd
chown root:deployd /etc/deployd && chmod 1770 /etc/deployd
chown deployd:deployd /var/lib/deployd && chmod 0700 /var/lib/deployd
`;

function control(
  version: string,
  { installedKiB, architecture }: { installedKiB: number; architecture: string },
): string {
  return `Package: deployd
Version: ${version}
Architecture: ${architecture}
Maintainer: nobody <nobody@example.org>
Installed-Size: ${installedKiB}
Description: stand-in
`;
}
