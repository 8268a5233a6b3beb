import { readFile } from 'node:fs/promises';
import { grant, type InstallWorld, openInstallWorld, token, version } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';

const pages = 'docs/installing.md';

let offer: InstallWorld;
beforeAll(async () => {
  if (!isRoot) return;
  offer = await openInstallWorld();
  const { host, packages, releases } = offer;
  const script = Buffer.from(await host.read('install.sh'));
  packages.files.set(`deployd/${version}/install.sh`, script);
  releases.releases[0]?.assets.push({ id: 9, name: 'install.sh', bytes: script });
  await host.write(
    'played/sudo',
    '#!/bin/sh\ncase $1 in --preserve-env=*) shift ;; *) unset DEPLOYD_TOKEN ;; esac\nexec "$@"\n',
    0o755,
  );
  await host.write('bootstrap.jwt', `${grant}\n`, 0o600);
  await host.write('secretstore-ca.pem', await host.read('ca.pem'));
});
afterAll(async () => {
  if (isRoot) await offer.close();
});

describeIf(needsRoot, 'every command of docs/installing.md', () => {
  it('does what it is there for, one after the other', async () => {
    const blocks = [...(await readFile(pages, 'utf8')).matchAll(/^```sh\n(.*?)^```$/gms)].map(
      ([, block = '']) => block,
    );
    expect(blocks).toHaveLength(7);
    for (const block of blocks) {
      const line = block
        .replaceAll('https://gitlab.example', offer.packages.url)
        .replaceAll('https://gitea.example', offer.releases.url);
      const env = { DEPLOYD_TOKEN: token, CURL_CA_BUNDLE: '/ca.pem' };
      const ended = await offer.host.install([], { shell: ['sh', '-euc', line], env });
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout === '' || ended.stdout.includes('done: deployd')).toBe(true);
    }
    expect(await offer.host.list('/')).not.toContain('token.conf');
  });
});

it('every option is in docs/installing.md', async () => {
  const page = await readFile(pages, 'utf8');
  const usage = await readFile('install/install.sh', 'utf8');
  const options = [...usage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option = '']) => option);
  expect(options).toHaveLength(23);
  expect(options.filter((option) => option !== '--help' && !page.includes(`\`${option}`))).toEqual([]);
});
