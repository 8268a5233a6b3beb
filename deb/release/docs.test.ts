import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Packages, startPackages } from '../../fixtures/servers/packages.ts';
import { type Releases, startReleases } from '../../fixtures/servers/releases.ts';
import { version } from '../../src/version.ts';
import { openReleaseStage, type ReleaseStage } from './stage.ts';

let stage: ReleaseStage;
let registry: Packages;
let host: Releases;
beforeAll(async () => {
  stage = await openReleaseStage();
  registry = await startPackages(stage.certificate);
  host = await startReleases(stage.certificate);
  registry.tokens.set('deploy-token', 'write');
  host.upstream.add(`v${version}`);
  await copyFile('install/install.sh', join(stage.dir, 'install.sh'));
});
afterAll(async () => {
  await Promise.all([registry.stop(), host.stop()]);
  await stage.close();
});

it('every command of docs/releasing.md, but for the build, does what it is there for', async () => {
  const page = await readFile('docs/releasing.md', 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  expect(blocks).toHaveLength(4);
  for (const block of blocks) {
    const line = block
      .replace(/^npm run .*$/m, '')
      .replaceAll('build/package', stage.dir)
      .replaceAll('https://gitlab.example', registry.url)
      .replaceAll('https://gitea.example', host.url);
    const env = { DEPLOY_TOKEN: 'deploy-token', RELEASE_API_TOKEN: host.apiToken };
    expect(await stage.run({ line }, [], env)).toMatchObject({ code: 0, stderr: '' });
  }
  expect(registry.files.get(`deployd/${version}/install.sh`)?.toString()).toContain(
    `\nregistry_base=${registry.base}\n`,
  );
  expect(host.releases[0]?.assets.map(({ name }) => name)).toContain('install.sh');
});
