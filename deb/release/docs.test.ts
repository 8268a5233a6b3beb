import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PackageRegistry, startPackageRegistry } from '../../fixtures/world/servers/registry/packageRegistry.ts';
import { type ReleaseHost, startReleaseHost } from '../../fixtures/world/servers/registry/releaseHost.ts';
import { version } from '../../src/core/commandLine.ts';
import { openReleaseWorkspace, type ReleaseWorkspace } from './workspace.ts';

let workspace: ReleaseWorkspace;
let registry: PackageRegistry;
let host: ReleaseHost;
beforeAll(async () => {
  workspace = await openReleaseWorkspace();
  registry = await startPackageRegistry(workspace.certificate);
  host = await startReleaseHost(workspace.certificate);
  registry.tokens.set('deploy-token', 'write');
  host.upstream.add(`v${version}`);
  await copyFile('install/install.sh', join(workspace.dir, 'install.sh'));
});
afterAll(async () => {
  await Promise.all([registry.stop(), host.stop()]);
  await workspace.close();
});

it('every command of docs/releasing.md works, the build excepted', async () => {
  const page = await readFile('docs/releasing.md', 'utf8');
  const blocks = [...page.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, block = '']) => block);
  expect(blocks).toHaveLength(4);
  for (const block of blocks) {
    const line = block
      .replace(/^ *npm run .*$/m, '')
      .replaceAll('build/package', workspace.dir)
      .replaceAll('https://gitlab.example', registry.url)
      .replaceAll('https://gitea.example', host.url);
    const env = { DEPLOY_TOKEN: 'deploy-token', RELEASE_API_TOKEN: host.apiToken };
    expect(await workspace.run({ line }, [], env)).toMatchObject({ code: 0, stderr: '' });
  }
  expect(registry.files.get(`deployd/${version}/install.sh`)?.toString()).toContain(
    `\nregistry_base=${registry.base}\n`,
  );
  expect(host.releases[0]?.assets.map(({ name }) => name)).toContain('install.sh');
});
