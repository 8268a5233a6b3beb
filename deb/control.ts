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

/** What the control file of a package says in every version. */
export interface ControlTexts {
  name: string;
  /** Name of the source package where it differs. */
  source?: string;
  /** Beside the shared libraries. */
  depends: readonly string[];
  recommends: readonly string[];
  suggests?: readonly string[];
  /** The first line in the form of a noun, the others indented as Debian wants it. */
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
  description: `deploy agent that converges a container host
 deployd asks its tenancy service, once a minute, what should run on this
 host, and makes it so: it downloads and verifies the bundle, refuses what
 is not allowed, reads the secrets from the secretstore, and brings the
 release up with compose. A release that does not become healthy is taken
 back.
 .
 The program needs no Node.js on the host. Installing the package starts and
 enables nothing: install.sh enrols a host, or see deployd(1).`,
};

/** The tenancy service's. PostgreSQL is only suggested: the embedded store serves one machine. */
export const tenancyControl: ControlTexts = {
  name: 'deployd-tenancy',
  source: 'deployd',
  depends: ['systemd (>= 247)'],
  recommends: ['ca-certificates'],
  suggests: ['postgresql (>= 15)', 'deployctl'],
  description: `tenancy service that tells container hosts what to run
 The service behind the agents of deployd: it keeps envs, backends and
 bundles, signs grants and leases for the secretstore, receives the reports
 of hosts, and has an API for operators.
 .
 Installing the package starts and enables nothing: the service needs a
 configuration and "deployd-tenancy init" first, see deployd-tenancy(1).`,
};

/** deployctl's. */
export const ctlControl: ControlTexts = {
  name: 'deployctl',
  source: 'deployd',
  depends: [],
  recommends: ['ca-certificates'],
  description: `command line of the tenancy service of deployd
 What operators and pipelines use of a tenancy service: it pushes bundles,
 says what runs where, sets secrets, installs and retires hosts, and shows
 reports and the audit log.`,
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
