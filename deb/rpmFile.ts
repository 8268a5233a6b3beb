import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from './architecture.ts';
import { agentControl, maintainer } from './control.ts';
import type { Compression } from './debFile.ts';
import { rpmChangelog } from './docs/changelogs.ts';
import type { ChangelogEntry, PackageVersion } from './packageVersion.ts';
import { writePayload, type Payload } from './payload.ts';

/** The inputs of an rpm package of the agent. */
export interface RpmContents extends PackageVersion {
  architecture: Architecture;
  /** The description of the `.deb`. */
  payload: Payload;
  compression: Compression;
  /** The changelog, newest first. */
  changes: readonly ChangelogEntry[];
}

const machines: Record<Architecture, string> = { amd64: 'x86_64', arm64: 'aarch64' };
const compressions: Record<Compression, string> = { release: 'w6.xzdio', quick: 'w1.gzdio' };

/** The file name of the agent's rpm package. */
export function rpmNameOf(version: string, architecture: Architecture): string {
  return `deployd-${version}.${machines[architecture]}.rpm`;
}

/** Builds the rpm package. The same contents give the same bytes; rpm finds by itself which libraries the program needs. */
export async function buildRpmFile(output: string, contents: RpmContents): Promise<void> {
  const { architecture, payload, compression, date } = contents;
  const dir = await mkdtemp(join(tmpdir(), 'deployd-rpm-'));
  try {
    const files = rpmPayload(payload);
    await writePayload(join(dir, 'tree'), files);
    await writeFile(join(dir, 'deployd.spec'), await specOf(contents, Object.keys(files).sort()));
    const macros: Record<string, string> = {
      _topdir: dir,
      _rpmdir: dir,
      _rpmfilename: 'out.rpm',
      _buildhost: 'deployd',
      _binary_payload: compressions[compression],
      _build_id_links: 'none',
      debug_package: '%{nil}',
      __os_install_post: '%{nil}',
      use_source_date_epoch_as_buildtime: '1',
      clamp_mtime_to_source_date_epoch: '1',
    };
    const defines = Object.entries(macros).flatMap(([name, value]) => ['--define', `${name} ${value}`]);
    const target = ['--target', `${machines[architecture]}-linux`, '--buildroot', join(dir, 'tree')];
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(date.getTime() / 1000), LC_ALL: 'C.UTF-8' };
    await promisify(execFile)('rpmbuild', ['-bb', '--noclean', ...target, ...defines, 'deployd.spec'], {
      cwd: dir,
      env,
    });
    await rename(join(dir, 'out.rpm'), resolve(output));
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Debian's own files are left out; zsh finds its completions elsewhere. */
function rpmPayload(payload: Payload): Payload {
  const own = Object.entries(payload).filter(([path]) => !/\/(lintian|update-motd\.d)\/|\/changelog\.gz$/.test(path));
  return Object.fromEntries(
    own.map(([path, file]) => [path.replace('zsh/vendor-completions', 'zsh/site-functions'), file]),
  );
}

/** The spec file; what rpm would guess by this machine is written out. */
async function specOf({ version, date, changes }: RpmContents, paths: string[]): Promise<string> {
  const [summary = '', ...description] = agentControl.description.split('\n');
  const ownDirectories = [...new Set(paths.map(dirname))].filter(
    (dir) => dir.endsWith('/deployd') || dir.includes('/deployd/'),
  );
  const scripts = ['post', 'preun', 'postun'].map(async (name) => {
    return `%${name}\n${await readFile(join(import.meta.dirname, 'rpm', name), 'utf8')}`;
  });
  return `Name: deployd
Version: ${version}
Release: 1
Summary: ${summary.charAt(0).toUpperCase()}${summary.slice(1)}
License: Apache-2.0 AND MIT
Packager: ${maintainer}
Requires: acl, shadow-utils, systemd >= 247
Requires(post): systemd
Requires(preun): systemd, acl, shadow-utils
Recommends: ca-certificates, nftables
AutoProv: no

%description
${description.map((line) => line.trim().replace(/^\.$/, '')).join('\n')}

${(await Promise.all(scripts)).join('\n')}
%files
%defattr(-,root,root,-)
${ownDirectories
  .sort()
  .map((dir) => `%dir ${dir}`)
  .join('\n')}
${paths.map((path) => (path.endsWith('/copyright') ? `%license ${path}` : path)).join('\n')}

%changelog
${rpmChangelog(changes, { maintainer, date })}
`;
}
