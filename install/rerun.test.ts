import { existsSync } from 'node:fs';
import { lchown, rm, symlink } from 'node:fs/promises';
import { grant, type InstallWorld, openInstallWorld, optionsOf, version } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { users, type CommandResult } from './scratchHost.ts';

const config = 'etc/deployd/config.yaml';

let offer: InstallWorld;
beforeEach(async () => {
  if (!isRoot) return;
  offer = await openInstallWorld();
  await offer.host.install(optionsOf(), { env: offer.env });
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

/** Runs it once more, on a host that is installed; only with the options named, and without a grant. */
async function again(options: Record<string, string> = {}, extra: string[] = []): Promise<CommandResult> {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return offer.host.install([...args, ...extra], { env: offer.env });
}

describeIf(needsRoot, 'a second run', () => {
  it('without options changes nothing and fetches nothing', async () => {
    const before = await offer.host.snapshot();
    const asked = offer.packages.requests.length;
    expect(await again()).toMatchObject({ code: 0, stderr: '' });
    expect(await offer.host.snapshot()).toEqual(before);
    expect(offer.packages.requests).toHaveLength(asked);
  });

  it('with the same options changes nothing but exchanges the grant', async () => {
    const others = (lines: string[]) => lines.filter((line) => !line.startsWith('var/lib/deployd/store.token'));
    const before = others(await offer.host.snapshot());
    expect(await offer.host.install(optionsOf(), { env: offer.env })).toMatchObject({ code: 0, stderr: '' });
    expect(others(await offer.host.snapshot())).toEqual(before);
  });

  it('needs neither token nor base address for a version that is there', async () => {
    expect(await offer.host.install([], { env: {} })).toMatchObject({ code: 0, stderr: '' });
  });

  it('changes the key that an option names, and keeps what the operator wrote', async () => {
    const written = `# ours\nenv: eu-1 # first\nsite: "berlin"\ntransport: 'system'\ntenancy_url: https://tenancy.example
secretstore_url: https://secretstore.example:8200\ndisk:\n  headroom_bytes: 0\n`;
    await offer.host.write(config, written, 0o640);
    await again({ env: 'eu-1', site: 'berlin' });
    expect(await offer.host.read(config)).toBe(written);
    await again({ site: "St. John's" }, ['--laptop']);
    expect(await offer.host.read(config)).toBe(
      `${written.replace('site: "berlin"', "site: 'St. John''s'")}laptop_mode: true\n`,
    );
  });

  it('mends the rights of the configuration', async () => {
    await offer.host.write(config, await offer.host.read(config), 0o666);
    await again();
    expect(await offer.host.rights(config)).toBe('0640 root:deployd');
  });

  it('puts nothing where a link of the agent’s user leads', async () => {
    await offer.host.write('etc/cron.d/own', '');
    await symlink('/etc/cron.d', offer.host.path('etc/deployd/bootstrap.jwt'));
    await symlink('/etc/cron.d', offer.host.path('etc/deployd/secretstore-ca.pem'));
    const ended = await offer.host.install([...optionsOf(), '--secretstore-ca', '/ca.pem'], { env: offer.env });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(await offer.host.list('etc/cron.d')).toEqual(['own']);
    expect(await offer.host.rights('etc/deployd/secretstore-ca.pem')).toBe('0644 root:root');
  });

  it('takes nothing from a configuration that is not root’s', async () => {
    await offer.host.write('etc/secret', 'root: secret\n', 0o600);
    await rm(offer.host.path(config));
    await symlink('/etc/secret', offer.host.path(config));
    await lchown(offer.host.path(config), users.deployd, users.deployd);
    const ended = await offer.host.install(optionsOf(), { env: offer.env });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('/etc/deployd/config.yaml does not belong to root: see what it says');
  });

  it('keeps the configuration when the agent does not take the new one', async () => {
    const before = await offer.host.snapshot();
    await offer.host.write('played/deployd.ends', '78');
    await offer.host.write(
      'played/deployd.says',
      'CONFIG_INVALID: /etc/deployd/config.yaml.new:2: site: must be better\n',
    );
    const calls = (await offer.host.calls()).length;
    const ended = await again({ site: 'x' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(`deployd install: the configuration is refused; the old one stays and nothing was enabled:
CONFIG_INVALID: /etc/deployd/config.yaml.new:2: site: must be better\n`);
    expect(await offer.host.snapshot()).toEqual(before);
    expect((await offer.host.calls()).slice(calls)).toEqual(['deployd status --config /etc/deployd/config.yaml.new']);
  });
});

describeIf(needsRoot, 'another version', () => {
  it('is installed when it is newer', async () => {
    await offer.host.write(
      'install.sh',
      (await offer.host.read('install.sh')).replace(`version=${version}`, 'version=0.3.0'),
    );
    await offer.publish('0.3.0');
    expect((await again()).stdout).toContain('installing deployd 0.3.0');
  });

  it('that is older is not, unless it is named', async () => {
    await offer.host.write(
      'install.sh',
      (await offer.host.read('install.sh')).replace(`version=${version}`, 'version=0.1.11'),
    );
    await offer.publish('0.1.11');
    expect((await again()).stdout).toContain(`deployd ${version} is installed`);
    expect((await again({ version: '0.1.11' })).stdout).toContain('done: deployd 0.1.11 ');
  });
});

describeIf(needsRoot, 'the bootstrap', () => {
  const bootstrap = () => offer.host.install(optionsOf(), { env: offer.env });
  const isTicking = async () =>
    (await offer.host.calls()).at(-1)?.startsWith('systemctl --quiet is-active deployd.timer');
  const ending = async (code: number, says: string, meanwhile = ':') => {
    await offer.host.write(
      'played/deployd',
      `#!/bin/sh\n[ "$1" = bootstrap ] || exit 0\n${meanwhile}\necho '${says}' >&2\nexit ${code}\n`,
      0o755,
    );
  };

  it('that is refused beside a token, as of the first run’s grant, leaves that to the tick', async () => {
    await offer.host.write('played/enabled.deployd.timer', '');
    await ending(1, 'BOOTSTRAP_REFUSED: the grant is expired');
    const ended = await bootstrap();
    expect(ended.code).toBe(0);
    expect(ended.stderr).toBe(
      'BOOTSTRAP_REFUSED: the grant is expired\ndeployd install: the bootstrap grant was refused and removed; the token that the host has stays\n',
    );
    expect(ended.stdout).toContain('healthy; heartbeat reported\n');
    expect(await offer.host.list('etc/deployd')).toEqual(['config.yaml', 'timer.enabled']);
  });

  it('that is refused without a token fails the run, and the timer comes on', async () => {
    for (const file of ['var/lib/deployd/store.token', 'etc/deployd/timer.enabled', 'played/enabled.deployd.timer'])
      await rm(offer.host.path(file));
    await ending(1, 'BOOTSTRAP_REFUSED: the grant is expired');
    const ended = await bootstrap();
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/ the bootstrap grant was refused and removed: .*reveal the install kit again/);
    expect(await offer.host.list('etc/deployd')).toEqual(['config.yaml', 'timer.enabled']);
    expect((await offer.host.calls()).at(-1)).toBe('systemctl --quiet enable --now deployd.timer');
  });

  it('that fails otherwise ends it, and the grant stays', async () => {
    await ending(1, 'TLS_UNTRUSTED: secretstore');
    expect((await bootstrap()).stderr).toContain(
      'the bootstrap failed; the grant stays in /etc/deployd/bootstrap.jwt;',
    );
    expect(await offer.host.list('etc/deployd')).toEqual(['bootstrap.jwt', 'config.yaml', 'timer.enabled']);
    expect(await isTicking()).toBe(true);
  });

  it('that a tick of the timer was faster with is done', async () => {
    const grant = '/etc/deployd/bootstrap.jwt';
    await ending(1, `failed: no bootstrap grant in ${grant}`, `rm ${grant}`);
    expect(await bootstrap()).toMatchObject({ code: 0 });
  });

  it('that has no network is left to the timer', async () => {
    await ending(75, 'temporary network failure');
    const ended = await bootstrap();
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain('the grant stays in place, and the next tick exchanges it');
  });
});

describeIf(needsRoot, 'the timer', () => {
  const timer = 'played/enabled.deployd.timer';
  const ticks = async () =>
    (await offer.host.calls()).filter((line) => line === 'systemctl start deployd.service').length;

  it.each([
    ['disabled', timer, 'systemctl enable --now deployd.timer'],
    ['stopped', 'played/started.deployd.timer', 'systemctl start deployd.timer'],
  ])('that an operator has %s stays so, and no tick is run, until it is asked for', async (how, file, command) => {
    const before = await ticks();
    await rm(offer.host.path(file));
    const ended = await again();
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(
      `deployd.timer was ${how} on purpose and stays so; no tick is run. To go on: ${command}\n`,
    );
    expect([existsSync(offer.host.path(file)), await ticks()]).toEqual([false, before]);
    expect((await again({}, ['--enable-timer'])).stdout).toContain('ticks every minute');
    expect([existsSync(offer.host.path(file)), await ticks()]).toEqual([true, before + 1]);
  });

  it('that a run before could not enable is', async () => {
    for (const file of ['etc/deployd/timer.enabled', timer]) await rm(offer.host.path(file));
    expect(await again()).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(offer.host.path(timer))).toBe(true);
  });
});

describeIf(needsRoot, 'places that the configuration has elsewhere', () => {
  it('are looked at, written to and opened to the unit', async () => {
    await rm(offer.host.path('var/lib/deployd/store.token'));
    const lines = `state_dir: "/srv/deployd" # bigger\nbootstrap_file: /srv/grants/jwt\nsecretstore_ca: /etc/ours.pem\n`;
    await offer.host.write(config, (await offer.host.read(config)) + lines, 0o640);
    await offer.host.write('srv/grants/other', '');
    await offer.host.write('bootstrap.jwt', `${grant}\n`, 0o600);
    expect((await again()).stderr).toContain('the bootstrap grant is missing');
    await offer.host.write(
      'played/deployd',
      '#!/bin/sh\nif [ "$1" = bootstrap ]; then mv /srv/grants/jwt /srv/deployd/store.token; fi\n',
      0o755,
    );
    const ended = await again({ 'bootstrap-file': '/bootstrap.jwt', 'secretstore-ca': '/ca.pem' });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(await offer.host.rights('srv/deployd')).toBe('0700 deployd:deployd');
    expect(await offer.host.rights('srv/deployd/store.token')).toBe('0600 deployd:deployd');
    expect(await offer.host.read('etc/systemd/system/deployd.service.d/paths.conf')).toContain(
      '\n[Service]\nReadWritePaths=-/srv/deployd -/srv/grants\n',
    );
    expect(await offer.host.read(config)).toContain("\nsecretstore_ca: '/etc/deployd/secretstore-ca.pem'\n");
    await offer.host.write(
      config,
      (await offer.host.read(config)).replace(/^(state_dir|bootstrap_file).*\n/gm, ''),
      0o640,
    );
    expect(await again({ 'bootstrap-file': '/bootstrap.jwt' })).toMatchObject({ code: 1 });
    expect(existsSync(offer.host.path('etc/systemd/system/deployd.service.d'))).toBe(false);
  });
});

describeIf(needsRoot, 'the first tick', () => {
  const tick = async (code: number, journal: string) => {
    await offer.host.write('played/tick.code', `${code}\n`);
    await offer.host.write('played/tick.journal', `${journal}\n`);
    return again();
  };

  it('that converged is told with its journal', async () => {
    const ended = await tick(0, 'healthy; heartbeat reported');
    expect(ended.stdout).toContain(
      `healthy; heartbeat reported\ndeployd install: done: deployd ${version} ticks every minute\n`,
    );
  });

  it('that met no network is no failure, and called no connection', async () => {
    const ended = await tick(75, 'check-in begins\nofflineX: ECONNREFUSED');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(
      `deployd install: deployd ${version} is installed, and not connected yet: offlineX: ECONNREFUSED; it is tried again every minute\n`,
    );
  });

  it('that met a superseded grant says so', async () => {
    const ended = await tick(1, 'AGENT_UNAUTHENTICATED: bearer refused');
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(
      'deployd install: deployd is installed, but the tenancy service refuses its token: the grant was superseded by a later reveal of the install kit; run the installer with the newest grant\n',
    );
  });

  it('that could not begin is not taken for one that converged', async () => {
    const player = await offer.host.read('played/systemctl');
    const masked = player.replace('case', 'case $* in *start*) exit 1 ;; esac\ncase');
    await offer.host.write('played/systemctl', masked, 0o755);
    const ended = await again();
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('deployd.service does not start: systemctl status deployd.service');
  });

  it('that failed is told with its code', async () => {
    const ended = await tick(78, 'AGENT_ENV_MISMATCH: the token is of eu-2');
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('AGENT_ENV_MISMATCH: the token is of eu-2');
    expect(ended.stderr).toContain('the first tick ended with 78');
  });
});
