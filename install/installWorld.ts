import { createCa } from '../fixtures/world/servers/crypto/ca.ts';
import {
  type PackageRegistry,
  startPackageRegistry,
  startObjectStorage,
} from '../fixtures/world/servers/registry/packageRegistry.ts';
import { type ReleaseHost, startReleaseHost } from '../fixtures/world/servers/registry/releaseHost.ts';
import type { TestServer } from '../fixtures/world/servers/http/httpsServer.ts';
import { debNameOf, type Architecture } from '../deb/architecture.ts';
import { makePackage } from './packageArchive.ts';
import { createScratchHost, type CommandResult, type ScratchHost } from './scratchHost.ts';

/** A host and the servers it installs from, with one version of the package on both. */
export interface InstallWorld {
  host: ScratchHost;
  packages: PackageRegistry;
  releases: ReleaseHost;
  /** Another origin, for redirects. */
  storage: TestServer;
  /** The settings of an installer in addition to its options. */
  env: Record<string, string>;
  /** A read-only download token, which `env` holds. */
  token: string;
  /** Offers one more version. */
  publish: (
    version: string,
    how?: { installedKiB?: number; sha256File?: string; architecture?: Architecture },
  ) => Promise<void>;
  /** Runs the installer once more, only with the options named and without a grant. */
  again: (options?: Record<string, string>, extra?: string[]) => Promise<CommandResult>;
  close: () => Promise<void>;
}

/** The version of the installer itself. */
export const version = '0.2.0';

export const token = 'gldt-4c5f0a7e1b2d3c6f8a9b';
export const grant = 'eyJhbGciOiJFUzI1NiJ9.eyJraW5kIjoiZGVwbG95LWdyYW50In0.c2lnbmF0dXJl';

/** Options that make a complete configuration; values by their names replace the usual ones, null leaves one out. */
export function optionsOf(changes: Record<string, string | null> = {}): string[] {
  const values: Record<string, string | null> = {
    env: 'eu-1',
    site: 'berlin',
    transport: 'system',
    'tenancy-url': 'https://tenancy.example',
    'secretstore-url': 'https://secretstore.example:8200',
    'bootstrap-file': '/grant',
    ...changes,
  };
  return Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`--${name}`, value]));
}

/** Starts the servers and makes the host. */
export async function openInstallWorld(): Promise<InstallWorld> {
  const ca = createCa();
  const certificate = ca.issue(['127.0.0.1', 'localhost']);
  const packages = await startPackageRegistry(certificate);
  const releases = await startReleaseHost(certificate);
  const storage = await startObjectStorage(certificate, packages);
  const host = await createScratchHost();
  await host.write('ca.pem', ca.pem);
  await host.write('grant', `${grant}\n`, 0o600);
  packages.tokens.set(token, 'read');
  const publish: InstallWorld['publish'] = async (wanted, how = {}) => {
    const { deb, sha256 } = await makePackage(wanted, how);
    const file = debNameOf('deployd', wanted, how.architecture ?? 'amd64');
    const assets = { [file]: deb, [`${file}.sha256`]: Buffer.from(how.sha256File ?? `${sha256}  ${file}\n`) };
    for (const [name, bytes] of Object.entries(assets)) packages.files.set(`deployd/${wanted}/${name}`, bytes);
    const attached = Object.entries(assets).map(([name, bytes], id) => ({ id, name, bytes }));
    releases.releases.push({ id: releases.releases.length, tag: `v${wanted}`, name: '', body: '', assets: attached });
  };
  const env = { CURL_CA_BUNDLE: '/ca.pem', DEPLOYD_BASE_URL: packages.base, DEPLOYD_TOKEN: token };
  await publish(version);
  return {
    host,
    packages,
    releases,
    storage,
    token,
    env,
    publish,
    again: (options = {}, extra = []) => {
      const named = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
      return host.install([...named, ...extra], { env });
    },
    close: async () => {
      await Promise.all([packages, releases, storage].map((server) => server.stop()));
      await host.remove();
    },
  };
}

/** As `openInstallWorld`, with the package installed. */
export async function openInstalledWorld(): Promise<InstallWorld> {
  const world = await openInstallWorld();
  await world.host.install(optionsOf(), { env: world.env });
  return world;
}
