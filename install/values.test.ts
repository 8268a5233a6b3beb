import { grant, type InstallWorld, openInstallWorld, optionsOf } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { type RunOptions } from './scratchHost.ts';

let offer: InstallWorld;
beforeAll(async () => {
  if (isRoot) offer = await openInstallWorld();
});
afterAll(async () => {
  if (isRoot) await offer.close();
});

/** Runs it and expects that it refuses before it changes or fetches anything; what it said. */
async function refused(args: string[], options: RunOptions = {}): Promise<string[]> {
  const before = await offer.host.snapshot();
  const ended = await offer.host.install(args, { ...options, env: { ...offer.env, ...options.env } });
  expect(ended.code).toBe(2);
  expect(['', 'deployd install: reading the bootstrap grant from standard input\n']).toContain(ended.stdout);
  expect(await offer.host.snapshot()).toEqual(before);
  expect(await offer.host.calls()).toEqual([]);
  expect(offer.packages.requests).toEqual([]);
  return ended.stderr.split('\n').filter(Boolean);
}

const header = 'deployd install: nothing was changed:';

describeIf(needsRoot, 'a value that is missing', () => {
  it.each(['env', 'site', 'transport', 'tenancy-url', 'secretstore-url'])('--%s is reported', async (name) => {
    expect(await refused(optionsOf({ [name]: null }))).toEqual([header, `  --${name} is missing`]);
  });

  it('is reported together with the others', async () => {
    expect(await refused([], { env: { DEPLOYD_BASE_URL: '' } })).toEqual([
      header,
      '  --env is missing',
      '  --site is missing',
      '  --transport is missing',
      '  --tenancy-url is missing',
      '  --secretstore-url is missing',
      '  --base-url (or DEPLOYD_BASE_URL) is missing',
      '  the bootstrap grant is missing: --bootstrap-file FILE, or standard input where that is not the script',
    ]);
  });

  const options =
    'env site transport tenancy-url tenancy-ca secretstore-url secretstore-ca bootstrap-file identity-jwt mesh token source base-url version';
  it.each(options.split(' '))('is reported for --%s at the end, before another option, and empty', async (name) => {
    const told = [`deployd install: --${name} needs a value; nothing was changed`];
    expect(await refused([`--${name}`])).toEqual(told);
    expect(await refused([`--${name}`, '--laptop'])).toEqual(told);
    expect(await refused([`--${name}`, ''])).toEqual(told);
  });
});

describeIf(needsRoot, 'a value that is wrong', () => {
  it.each([
    [{ env: 'EU_1' }, '--env: lower-case letters, digits and hyphens make one'],
    [{ env: '../x' }, '--env: lower-case letters, digits and hyphens make one'],
    [{ site: 'a\nproduction: false' }, '--site: must be one line'],
    [{ transport: 'tcp' }, '--transport: must be sdk, proxy or system'],
    [{ 'tenancy-url': 'tenancy.example' }, '--tenancy-url: must be an http(s) address in one line'],
    [{ 'secretstore-url': 'https://a b' }, '--secretstore-url: must be an http(s) address in one line'],
    [{ source: 'github' }, '--source: must be registry, gitea or repository'],
    [{ mesh: 'tailscale' }, '--mesh: must be mesh or openziti'],
    [{ version: '1/../../x' }, '--version: letters, digits and . + ~ - make one'],
    [{ token: 'a b' }, '--token: holds characters that no token has'],
    [{ token: 'a"\nurl = "https://evil.example' }, '--token: holds characters that no token has'],
    [{ 'base-url': 'http://registry.example' }, '--base-url: must be an https:// URL without credentials'],
    [{ 'base-url': 'http://127.0.0.1.evil.example' }, '--base-url: must be an https:// URL without credentials'],
    [{ 'base-url': 'https://user:pass@registry.example' }, '--base-url: must be an https:// URL without credentials'],
    [{ 'base-url': 'https://a"b' }, '--base-url: must be an https:// URL without credentials'],
    [{ 'base-url': 'file:///etc' }, '--base-url: must be an https:// URL without credentials'],
    [{ 'secretstore-ca': '/nowhere' }, '--secretstore-ca: names no readable PEM file with a certificate'],
    [{ 'tenancy-ca': '/grant' }, '--tenancy-ca: names no readable PEM file with a certificate'],
    [{ 'bootstrap-file': '/ca.pem' }, 'the bootstrap grant is not a JWT; it is bootstrap_jwt of the install kit'],
  ])('%j is reported', async (changes, told) => {
    expect(await refused(optionsOf(changes))).toEqual([header, `  ${told}`]);
  });

  it('is reported for a grant file that is not there', async () => {
    expect(await refused(optionsOf({ 'bootstrap-file': '/nowhere' }))).toEqual([
      'deployd install: --bootstrap-file: names no file that can be read; nothing was changed',
    ]);
  });

  it('is reported for a grant on standard input', async () => {
    const told = await refused(optionsOf({ 'bootstrap-file': null }), { stdin: `${grant}\n${grant}\n` });
    expect(told).toEqual([header, '  the bootstrap grant is not a JWT; it is bootstrap_jwt of the install kit']);
  });

  it('is reported for an unknown option', async () => {
    expect(await refused(['--laptob'])).toEqual(['deployd install: unknown option --laptob; --help lists them']);
  });
});

describeIf(needsRoot, 'what is not an option', () => {
  const secret = 'hunter2.hunter2.hunter2';
  it.each([
    [[`--tokne=${secret}`], 'unknown option --tokne; --help lists them'],
    [['--laptop', secret], 'an argument that belongs to no option; --help lists them'],
    [[`--laptop=${secret}`], '--laptop takes no value; nothing was changed'],
    [[`--token=`], '--token needs a value; nothing was changed'],
    [['--bootstrap-file', secret], '--bootstrap-file: names no file that can be read; nothing was changed'],
  ])('is reported without its value: %j', async (args, told) => {
    expect(await refused(args)).toEqual([`deployd install: ${told}`]);
  });

  it('is reported without its value, for each that has one', async () => {
    const names = ['env', 'transport', 'source', 'mesh', 'version', 'tenancy-ca', 'secretstore-ca', 'identity-jwt'];
    const wrong = Object.fromEntries(names.map((name) => [name, `${secret}/_`]));
    const told = await refused(optionsOf({ ...wrong, transport: secret }));
    expect(told.join('\n')).not.toContain('hunter2');
    for (const name of names.filter((each) => each !== 'identity-jwt')) expect(told.join('\n')).toContain(`--${name}`);
  });
});

describeIf(needsRoot, '--help', () => {
  it('prints every option', async () => {
    const ended = await offer.host.install(['--help'], { env: {} });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    for (const name of ['--env', '--token', '--bootstrap-file', '--laptop', '--source', '--base-url', '--identity-jwt'])
      expect(ended.stdout).toContain(`  ${name} `);
  });
});
