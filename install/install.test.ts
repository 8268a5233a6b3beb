import { architectures } from '../deb/architecture.ts';
import { loadSettings } from '../src/agent/config/loadSettings.ts';
import { version as agentVersion } from '../src/core/commandLine.ts';
import { grant, type InstallWorld, openInstallWorld, optionsOf, version } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { type CommandResult, type RunOptions } from './scratchHost.ts';
import { stubProgram } from './stubPrograms.ts';

let offer: InstallWorld;
beforeEach(async () => {
  if (isRoot) offer = await openInstallWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

it('carries the version of the agent', () => {
  expect(version).toBe(agentVersion);
});

describeIf(needsRoot, 'a fresh host', () => {
  it('is installed, configured, bootstrapped and ticked, in this order', async () => {
    const ended = await install();
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(await offer.host.calls()).toEqual([
      `apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install /var/cache/deployd-install/deployd_${version}_amd64.deb`,
      'deployd status --config /etc/deployd/config.yaml.new',
      'systemctl --quiet is-enabled deployd-proxy.service',
      'deployd bootstrap',
      'systemctl is-enabled deployd.timer',
      'systemctl --quiet enable --now deployd.timer',
      'systemctl start deployd.service',
      'systemctl show --property ExecMainStatus --value deployd.service',
      'systemctl show --property InvocationID --value deployd.service',
      'journalctl --quiet --output cat _SYSTEMD_INVOCATION_ID=0123456789abcdef',
    ]);
  });

  it('has a configuration that the agent takes', async () => {
    await install({ site: "St. John's # 1", env: '1' }, { extra: ['--laptop'] });
    expect(await offer.host.rights('etc/deployd/config.yaml')).toBe('0640 root:deployd');
    expect(loadSettings(offer.host.path('etc/deployd/config.yaml'))).toMatchObject({
      env: '1',
      site: "St. John's # 1",
      transport: 'system',
      tenancy_url: 'https://tenancy.example',
      secretstore_url: 'https://secretstore.example:8200',
      laptop_mode: true,
    });
  });

  it('keeps nothing of the download', async () => {
    await install();
    expect(await offer.host.list('var/cache')).toEqual([]);
    expect(await offer.host.list('run')).toEqual(['deployd-install.lock', 'systemd']);
  });

  it('trusts the authorities that were given', async () => {
    const pem = await offer.host.read('ca.pem');
    await install({ 'secretstore-ca': '/ca.pem', 'tenancy-ca': '/ca.pem' });
    expect(await offer.host.read('etc/deployd/secretstore-ca.pem')).toBe(pem);
    expect(await offer.host.rights('etc/deployd/secretstore-ca.pem')).toBe('0644 root:root');
    expect(await offer.host.read('etc/deployd/config.yaml')).toContain("tenancy_ca: '/etc/deployd/tenancy-ca.pem'\n");
  });

  it('takes the package from the release host without a token', async () => {
    const ended = await install({ source: 'gitea' }, { env: { DEPLOYD_BASE_URL: offer.releases.base } });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(offer.releases.requests.map(({ path, headers }) => [path, headers['deploy-token']])).toEqual([
      [`/ops/deployd/releases/download/v${version}/deployd_${version}_amd64.deb.sha256`, undefined],
      [`/ops/deployd/releases/download/v${version}/deployd_${version}_amd64.deb`, undefined],
    ]);
  });

  it('takes source, base and token from options before variables', async () => {
    const wrong = { DEPLOYD_SOURCE: 'gitea', DEPLOYD_BASE_URL: 'https://127.0.0.1:9', DEPLOYD_TOKEN: 'wrong' };
    const right = { source: 'registry', 'base-url': `${offer.packages.base}/`, token: offer.token };
    expect(await install(right, { env: wrong })).toMatchObject({ code: 0 });
  });

  it.each(architectures)('takes the package of its architecture: %s', async (architecture) => {
    await offer.publish(version, { architecture });
    expect(await install({}, { architecture })).toMatchObject({ code: 0 });
    expect((await offer.host.calls())[0]).toMatch(
      `install /var/cache/deployd-install/deployd_${version}_${architecture}.deb`,
    );
  });

  it('of another architecture is refused before anything is changed', async () => {
    const before = await offer.host.snapshot();
    expect(await install({}, { architecture: 'riscv64' })).toMatchObject({
      code: 1,
      stderr: 'deployd install: deployd is packaged for amd64 and arm64, not for riscv64\n',
    });
    expect(await offer.host.snapshot()).toEqual(before);
  });

  it.each(['ID=ubuntu\nID_LIKE=debian\n', 'ID="kali"\nID_LIKE="debian"\n'])(
    'that says it is of apt’s family is installed by apt, though it has dnf too: %j',
    async (release) => {
      await offer.host.write('etc/os-release', release);
      await offer.host.write('played/dnf', stubProgram(''), 0o755);
      expect(await install()).toMatchObject({ code: 0, stderr: '' });
      expect((await offer.host.calls())[0]).toMatch(/^apt-get /);
    },
  );

  it.each(['ID=arch\n', 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', 'NAME=debian\n'])(
    'that says it is of neither family is refused before anything is changed: %j',
    async (release) => {
      await offer.host.write('etc/os-release', release);
      const before = await offer.host.snapshot();
      expect(await install()).toMatchObject({
        code: 1,
        stderr:
          'deployd install: the installer is for Debian and Ubuntu, Fedora and RHEL, and those that follow them; see /etc/os-release\n',
      });
      expect(await offer.host.snapshot()).toEqual(before);
    },
  );

  it('takes another version on request', async () => {
    await offer.publish('0.1.11');
    await install({ version: '0.1.11' });
    expect((await offer.host.calls())[0]).toMatch(/--allow-downgrades install .*deployd_0\.1\.11_amd64\.deb$/);
  });
});

describeIf(needsRoot, 'the grant', () => {
  const taken = () => offer.host.read('var/lib/deployd/store.token');

  it('comes from its file', async () => {
    await install();
    expect(await taken()).toBe(`${grant}\n`);
  });

  it('comes from standard input', async () => {
    expect(await install({ 'bootstrap-file': null }, { stdin: `${grant}\n` })).toMatchObject({ code: 0 });
    expect(await taken()).toBe(`${grant}\n`);
  });

  it('says that it waits for one on standard input', async () => {
    const { stdout } = await install({ 'bootstrap-file': null }, { stdin: `${grant}\n` });
    expect(stdout).toContain('deployd install: reading the bootstrap grant from standard input\n');
  });

  it('comes from standard input on demand, also where there is a token', async () => {
    await install();
    expect(await install({ 'bootstrap-file': '-' }, { stdin: `${grant}x\n` })).toMatchObject({ code: 0 });
    expect(await taken()).toBe(`${grant}x\n`);
  });

  it('cannot come from a standard input that is the script', async () => {
    const ended = await install({ 'bootstrap-file': '-' }, { piped: true });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toBe(
      'deployd install: --bootstrap-file -: standard input is the script; give the grant in a file; nothing was changed\n',
    );
  });

  it('is not read where there is a token: standard input is left to whoever comes next', async () => {
    await install();
    const shell = ['sh', '-c', 'sh "$@" >/dev/null && cat', 'sh'];
    const ended = await install({ 'bootstrap-file': null }, { shell, stdin: 'the next host\n' });
    expect(ended).toMatchObject({ code: 0, stdout: 'the next host\n' });
  });

  it('is typed on a terminal, without showing', async () => {
    const line = `sh /install.sh ${optionsOf({ 'bootstrap-file': null }).join(' ')}`;
    const typing = '{ until grep -qs Paste /screen; do :; done; cat /grant; }';
    const terminal = `${typing} | script --quiet --flush --return --echo always --command "$1" /screen`;
    const ended = await offer.host.install([], { shell: ['sh', '-c', terminal, 'sh', line], env: offer.env });
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain('Paste the bootstrap grant of the install kit and press Enter');
    expect(ended.stdout).not.toContain(grant);
    expect(await taken()).toBe(`${grant}\n`);
  });

  it('is for the agent alone until it is exchanged', async () => {
    const { reached, go } = await offer.host.hold('deployd.bootstrap');
    const running = offer.host.start(optionsOf(), { env: offer.env });
    await reached;
    expect(await offer.host.rights('etc/deployd/bootstrap.jwt')).toBe('0600 deployd:deployd');
    await go();
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it.each(['dash', 'busybox sh', 'bash'])('comes from its file when the script is piped into %s', async (shell) => {
    const ended = await install({}, { piped: true, shell: shell.split(' ') });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(await taken()).toBe(`${grant}\n`);
  });

  it('is not looked for in a script that is piped', async () => {
    const ended = await install({ 'bootstrap-file': null }, { piped: true });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('the bootstrap grant is missing: --bootstrap-file FILE');
  });
});

describeIf(needsRoot, 'every shell', () => {
  it.each(['dash', 'busybox sh', 'bash', 'bash --posix'])('%s installs', async (shell) => {
    expect(await install({}, { shell: shell.split(' ') })).toMatchObject({ code: 0, stderr: '' });
  });
});

async function install(
  changes: Record<string, string | null> = {},
  { extra = [], ...options }: RunOptions & { extra?: string[] } = {},
): Promise<CommandResult> {
  const env = { ...offer.env, ...options.env };
  return offer.host.install([...optionsOf(changes), ...extra], { ...options, env });
}
