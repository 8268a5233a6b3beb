import { createCa } from '../fixtures/world/servers/crypto/ca.ts';
import type { ResponseScript } from '../fixtures/world/servers/http/responseScript.ts';
import { type InstallWorld, openInstallWorld, optionsOf, token, version } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { type RunOptions } from './scratchHost.ts';

const file = `deployd_${version}_amd64.deb`;

let offer: InstallWorld;
beforeEach(async () => {
  if (isRoot) offer = await openInstallWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

/** Runs it and expects that nothing was installed and nothing is left; the last line that it said, without its prefix. */
async function failed(changes: Record<string, string | null> = {}, options: RunOptions = {}): Promise<string> {
  const before = await offer.host.snapshot();
  const ended = await offer.host.install(optionsOf(changes), { ...options, env: { ...offer.env, ...options.env } });
  expect(ended.code).toBe(1);
  expect(await offer.host.snapshot()).toEqual(before);
  expect(await offer.host.calls()).toEqual([]);
  expect(ended.stdout + ended.stderr).not.toContain(token);
  return (ended.stderr.split('\n').filter(Boolean).at(-1) ?? '').replace('deployd install: ', '');
}

const answering = (script: ResponseScript) => offer.packages.answerNext('download', script);

describeIf(needsRoot, 'a refused download', () => {
  it('says what 401 means with a token', async () => {
    expect(await failed({}, { env: { DEPLOYD_TOKEN: 'revoked' } })).toBe(
      `401 for ${file}.sha256: the download token is wrong, revoked or lacks the scope read_package_registry; reveal the install kit again`,
    );
  });

  it('says what 401 means without one', async () => {
    expect(await failed({}, { env: { DEPLOYD_TOKEN: '' } })).toBe(
      `401 for ${file}.sha256: no download token was given; it is in the install kit, pass it in DEPLOYD_TOKEN or by --token`,
    );
  });

  it('says what 403 means', async () => {
    answering({ status: 403, body: { message: '403 Forbidden' } });
    expect(await failed()).toBe(
      `403 for ${file}.sha256: the download token may not read this project's packages; reveal the install kit again`,
    );
  });

  it('says what 404 means for a version that is not there', async () => {
    expect(await failed({ version: '9.9.9' })).toBe(
      '404 for deployd_9.9.9_amd64.deb.sha256: there is no such package, or the download token is another project’s; check --version (9.9.9) and --base-url'.replace(
        '’',
        "'",
      ),
    );
  });

  it('says the same for the token of another project', async () => {
    offer.packages.tokens.set(token, 'elsewhere');
    expect(await failed()).toMatch(/^404 for .*another project's/);
  });

  it('says it of the package too', async () => {
    offer.packages.files.delete(`deployd/${version}/${file}`);
    expect(await failed()).toMatch(new RegExp(`^404 for ${file}: there is no such package`));
  });

  it('says what it means on the release host', async () => {
    const env = { DEPLOYD_BASE_URL: offer.releases.base };
    expect(await failed({ source: 'gitea', version: '9.9.9' }, { env })).toBe(
      '404 for deployd_9.9.9_amd64.deb.sha256: there is no such release; check --version (9.9.9) and --base-url',
    );
  });

  it.each([429, 500, 502, 503, 418])('says that %s may pass', async (status) => {
    answering({ status });
    expect(await failed()).toBe(
      `https://127.0.0.1:${offer.packages.port} answers ${status} for ${file}.sha256; try again later`,
    );
  });
});

describeIf(needsRoot, 'no network', () => {
  const again = /^no network to https:\/\/[^ ]+: curl: \(\d+\) .*; run the installer again when there is$/;

  it('is reported when the connection is refused', async () => {
    await offer.packages.stopListening();
    expect(await failed()).toMatch(again);
  });

  it('is reported when the name is not known', async () => {
    expect(await failed({ 'base-url': 'https://registry.invalid/x' })).toMatch(again);
  });

  it.each(['head', 'body'] as const)('is reported when the connection is cut in the %s', async (cut) => {
    answering({});
    answering({ cut });
    expect(await failed()).toMatch(again);
  });
});

describeIf(needsRoot, 'a server that is not the one', () => {
  it('is reported by its certificate', async () => {
    offer.packages.setCertificate(createCa('another').issue(['127.0.0.1']));
    expect(await failed()).toMatch(/^the certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted: curl: \(60\)/);
    expect(offer.packages.requests).toEqual([]);
  });
});

describeIf(needsRoot, 'a package', () => {
  const digests = `deployd/${version}/${file}.sha256`;

  it('with another checksum is not installed', async () => {
    offer.packages.files.set(`deployd/${version}/${file}`, Buffer.from('something else'));
    expect(await failed()).toBe(
      `${file} does not have the checksum it was published with: damaged on the way or not the package; nothing was installed`,
    );
  });

  it.each(['', 'hello', '<html>sign in</html>', 'a'.repeat(63), `${'A'.repeat(64)}  ${file}`])(
    'whose checksum file is %j is not installed',
    async (content) => {
      offer.packages.files.set(digests, Buffer.from(content));
      expect(await failed()).toBe(`${file}.sha256 is not a checksum file; nothing was installed`);
    },
  );

  it('whose checksum is of another file is not installed', async () => {
    offer.packages.files.set(digests, Buffer.from(`${'a'.repeat(64)}  other.deb\n`));
    expect(await failed()).toBe(`${file}.sha256 is of another file; nothing was installed`);
  });

  it('that does not fit on the disk is not installed', async () => {
    await offer.publish('0.3.0', { installedKiB: 2 ** 40 });
    expect(await failed({ version: '0.3.0' })).toMatch(
      /^no room on the disk of \/usr: the package needs 1073741824 MiB, \d+ are free; nothing was installed$/,
    );
  });

  it('that cannot be kept on the disk is reported', async () => {
    const big = Buffer.alloc(2 ** 20);
    offer.packages.files.set(`deployd/${version}/${file}`, big);
    const ended = await offer.host.install(optionsOf(), { env: offer.env, smallDisk: '/var/cache' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(
      'deployd install: no room on the disk of /var/cache/deployd-install: make some and run the installer again\n',
    );
  });

  it('that apt-get does not install is reported', async () => {
    await offer.host.write('played/apt-get.ends', '100');
    const ended = await offer.host.install(optionsOf(), { env: offer.env });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`apt could not install ${file}: see above`);
    expect(await offer.host.calls()).toHaveLength(1);
  });
});

describeIf(needsRoot, 'a redirect', () => {
  it('to another origin is followed without the token', async () => {
    offer.packages.redirectTo(offer.storage.url);
    expect(await offer.host.install(optionsOf(), { env: offer.env })).toMatchObject({ code: 0, stderr: '' });
    expect(offer.packages.requests.map(({ headers }) => headers['deploy-token'])).toEqual([token, token]);
    expect(offer.storage.requests.map(({ headers }) => headers['deploy-token'])).toEqual([undefined, undefined]);
  });

  it('from the release host is followed too', async () => {
    offer.releases.redirectTo(`${offer.storage.url}/deployd`);
    const deb = offer.packages.files.get(`deployd/${version}/${file}`);
    const digest = offer.packages.files.get(`deployd/${version}/${file}.sha256`);
    offer.packages.files.set(`deployd/v${version}/${file}`, deb!).set(`deployd/v${version}/${file}.sha256`, digest!);
    const env = { ...offer.env, DEPLOYD_BASE_URL: offer.releases.base, DEPLOYD_SOURCE: 'gitea' };
    expect(await offer.host.install(optionsOf(), { env })).toMatchObject({ code: 0, stderr: '' });
    expect(offer.storage.requests.map(({ headers }) => headers['deploy-token'])).toEqual([undefined, undefined]);
  });

  it('within the origin carries the token', async () => {
    const moved = `/api/v4/projects/42/packages/generic/deployd/${version}/${file}.sha256`;
    answering({ status: 301, headers: { location: moved } });
    expect(await offer.host.install(optionsOf(), { env: offer.env })).toMatchObject({ code: 0 });
    expect(offer.packages.requests.map(({ headers }) => headers['deploy-token'])).toEqual([token, token, token]);
  });

  it.each(['http://registry.example/x', 'http://127.0.0.1.example/', 'ftp://127.0.0.1/x', 'https://a@b/'])(
    'to %s is not followed',
    async (location) => {
      answering({ status: 302, headers: { location } });
      expect(await failed()).toMatch(/ redirects to an address that is not https; not followed$/);
    },
  );

  it('to a storage that refuses says who refused', async () => {
    offer.packages.redirectTo(offer.storage.url);
    offer.storage.answerNext('stored', { status: 403 });
    expect(await failed()).toBe(`${offer.storage.url} answers 403 for ${file}.sha256; try again later`);
  });

  it('without end is not followed for ever', async () => {
    offer.packages.answerAlways('download', { status: 302, headers: { location: offer.packages.base } });
    offer.packages.answerAlways('other', { status: 302, headers: { location: offer.packages.base } });
    expect(await failed()).toMatch(/ redirects without end$/);
  });
});
