import { existsSync } from 'node:fs';
import { lchown, rm, symlink } from 'node:fs/promises';
import { grant, type InstallWorld, openInstalledWorld, optionsOf, version } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { users } from './scratchHost.ts';

const config = 'etc/deployd/config.yaml';

let offer: InstallWorld;
beforeEach(async () => {
  if (isRoot) offer = await openInstalledWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

describeIf(needsRoot, 'a second run', () => {
  it('without options changes nothing and fetches nothing', async () => {
    const before = await offer.host.snapshot();
    const asked = offer.packages.requests.length;
    expect(await offer.again()).toMatchObject({ code: 0, stderr: '' });
    expect(await offer.host.snapshot()).toEqual(before);
    expect(offer.packages.requests).toHaveLength(asked);
  });

  it('with the same options only exchanges the grant', async () => {
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
    await offer.again({ env: 'eu-1', site: 'berlin' });
    expect(await offer.host.read(config)).toBe(written);
    await offer.again({ site: "St. John's" }, ['--laptop']);
    expect(await offer.host.read(config)).toBe(
      `${written.replace('site: "berlin"', "site: 'St. John''s'")}laptop_mode: true\n`,
    );
  });

  it('corrects the rights of the configuration', async () => {
    await offer.host.write(config, await offer.host.read(config), 0o666);
    await offer.again();
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
    const ended = await offer.again({ site: 'x' });
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
    expect((await offer.again()).stdout).toContain('installing deployd 0.3.0');
  });

  it('that is older is not, unless it is named', async () => {
    await offer.host.write(
      'install.sh',
      (await offer.host.read('install.sh')).replace(`version=${version}`, 'version=0.1.11'),
    );
    await offer.publish('0.1.11');
    expect((await offer.again()).stdout).toContain(`deployd ${version} is installed`);
    expect((await offer.again({ version: '0.1.11' })).stdout).toContain('done: deployd 0.1.11 ');
  });
});

describeIf(needsRoot, 'places that the configuration has elsewhere', () => {
  it('are looked at, written to and opened to the unit', async () => {
    await rm(offer.host.path('var/lib/deployd/store.token'));
    const lines = `state_dir: "/srv/deployd" # bigger\nbootstrap_file: /srv/grants/jwt\nsecretstore_ca: /etc/ours.pem\n`;
    await offer.host.write(config, (await offer.host.read(config)) + lines, 0o640);
    await offer.host.write('srv/grants/other', '');
    await offer.host.write('bootstrap.jwt', `${grant}\n`, 0o600);
    expect((await offer.again()).stderr).toContain('the bootstrap grant is missing');
    await offer.host.write(
      'played/deployd',
      '#!/bin/sh\nif [ "$1" = bootstrap ]; then mv /srv/grants/jwt /srv/deployd/store.token; fi\n',
      0o755,
    );
    const ended = await offer.again({ 'bootstrap-file': '/bootstrap.jwt', 'secretstore-ca': '/ca.pem' });
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
    expect(await offer.again({ 'bootstrap-file': '/bootstrap.jwt' })).toMatchObject({ code: 1 });
    expect(existsSync(offer.host.path('etc/systemd/system/deployd.service.d'))).toBe(false);
  });
});
