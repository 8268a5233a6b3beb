import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture, Runtime } from './architecture.ts';

/** Maintainer of the package, as in Debian's control files. */
export const maintainer = 'deployd maintainers <deployd@packages.example>';

/** The variable fields of the control file. */
export interface ControlFields {
  version: string;
  architecture: Architecture;
  /** Relations to the shared libraries that the program needs. */
  libraries: string;
  /** In KiB. */
  installedSize: number;
}

/** The fields of a package's control file that are the same in every version. */
export interface ControlTexts {
  name: string;
  /** Name of the source package where it differs. */
  source?: string;
  /** Beside the shared libraries. */
  depends: readonly string[];
  recommends: readonly string[];
  suggests?: readonly string[];
  /** The first line is a noun phrase, the others are indented as Debian requires. */
  description: string;
}

/** The control file of a package. */
export function controlOf(
  texts: ControlTexts,
  { version, architecture, libraries, installedSize }: ControlFields,
): string {
  const { name, source, depends, recommends, suggests = [], description } = texts;
  const optional = (field: string, values: readonly string[]) =>
    values.length === 0 ? '' : `${field}: ${values.join(', ')}\n`;
  return `Package: ${name}
${optional('Source', source === undefined ? [] : [source])}Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${installedSize}
${optional('Depends', [libraries, ...depends].filter(Boolean))}${optional('Recommends', recommends)}${optional('Suggests', suggests)}Section: admin
Priority: optional
Description: ${description}
`;
}

/**
 * The agent's. Engine and compose are only suggested, so that apt does not install them: the host's engine may come from
 * another source, or later, and must not conflict with a second one.
 */
export const agentControl: ControlTexts = {
  name: 'deployd',
  depends: ['acl', 'systemd (>= 247)'],
  recommends: ['ca-certificates', 'nftables'],
  // packages of Docker first, then of the distributions
  suggests: [
    'docker-ce | docker.io | moby-engine',
    'docker-compose-plugin | docker-compose-v2 | docker-compose (>= 2.20)',
  ],
  description: `deploy agent for hosts that run Docker Compose projects
 Every minute deployd asks its tenancy service which bundle this host should
 run. It downloads and verifies a new bundle, refuses it if the host does
 not permit it, reads the secrets from the secretstore, and starts the
 release with compose. If the release does not become healthy, the previous
 release is restored.
 .
 The host needs no Node.js. The package starts and enables nothing by
 itself: install.sh enrols a host, or see deployd(1).`,
};

/** The tenancy service's. PostgreSQL is only suggested: the embedded store serves one machine. */
export const tenancyControl: ControlTexts = {
  name: 'deployd-tenancy',
  source: 'deployd',
  depends: ['systemd (>= 247)'],
  recommends: ['ca-certificates', 'deployctl'],
  suggests: ['postgresql (>= 15)'],
  description: `tenancy service for fleets of deployd hosts
 Stores environments, hosts and bundles, announces the desired bundle to the
 agents, and receives their reports. It signs grants and leases for the
 secretstore, and has an API and a web console for operators.
 .
 The package starts and enables nothing by itself: the service needs a
 configuration first, which "deployd-tenancy setup URL" writes.`,
};

/** deployctl's. */
export const ctlControl: ControlTexts = {
  name: 'deployctl',
  source: 'deployd',
  depends: [],
  recommends: ['ca-certificates'],
  description: `command line client for the tenancy service of deployd
 Operators and pipelines use it to push and promote bundles, to roll them
 out, to set secrets, to add and retire hosts, and to read reports and the
 audit log.`,
};

/** Relations to the shared libraries that a program is linked to, as dpkg-shlibdeps finds them. */
export async function librariesOf(program: string, { architecture, root }: Runtime): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'deployd-shlibs-'));
  try {
    await mkdir(join(dir, 'debian'));
    if (root !== null) await cp(join(root, 'debian'), join(dir, 'debian'), { recursive: true });
    await writeFile(join(dir, 'debian', 'control'), 'Source: deployd\n\nPackage: deployd\nArchitecture: any\n');
    const places = root === null ? [] : ['lib', 'usr/lib'].map((lib) => `-l${join(root, lib, 'aarch64-linux-gnu')}`);
    const { stdout } = await promisify(execFile)('dpkg-shlibdeps', ['-O', ...places, resolve(program)], {
      cwd: dir,
      env: { ...process.env, DEB_HOST_ARCH: architecture },
    });
    return stdout.trim().replace('shlibs:Depends=', '');
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Content of `md5sums`: a line per file, its path without the leading slash. */
export async function md5sumsOf(root: string, paths: string[]): Promise<string> {
  const lines = paths.map(async (path) => {
    const digest = createHash('md5').update(await readFile(join(root, path)));
    return `${digest.digest('hex')}  ${path.slice(1)}\n`;
  });
  return (await Promise.all(lines)).join('');
}
