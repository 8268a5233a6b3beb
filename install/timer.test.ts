import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type InstallWorld, openInstalledWorld, version } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';

let offer: InstallWorld;
beforeEach(async () => {
  if (isRoot) offer = await openInstalledWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
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
    const ended = await offer.again();
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(
      `deployd.timer was ${how} on purpose and stays so; no tick is run. To continue: ${command}\n`,
    );
    expect([existsSync(offer.host.path(file)), await ticks()]).toEqual([false, before]);
    expect((await offer.again({}, ['--enable-timer'])).stdout).toContain('ticks every minute');
    expect([existsSync(offer.host.path(file)), await ticks()]).toEqual([true, before + 1]);
  });

  it('that a run before could not enable is', async () => {
    for (const file of ['etc/deployd/timer.enabled', timer]) await rm(offer.host.path(file));
    expect(await offer.again()).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(offer.host.path(timer))).toBe(true);
  });
});

describeIf(needsRoot, 'the first tick', () => {
  const tick = async (code: number, journal: string) => {
    await offer.host.write('played/tick.code', `${code}\n`);
    await offer.host.write('played/tick.journal', `${journal}\n`);
    return offer.again();
  };

  it('that converged is reported with its journal', async () => {
    const ended = await tick(0, 'healthy; heartbeat reported');
    expect(ended.stdout).toContain(
      `healthy; heartbeat reported\ndeployd install: done: deployd ${version} ticks every minute\n`,
    );
  });

  it('that met no network is not a failure, and called no connection', async () => {
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
    const ended = await offer.again();
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('deployd.service does not start: systemctl status deployd.service');
  });

  it('that failed is reported with its code', async () => {
    const ended = await tick(78, 'AGENT_ENV_MISMATCH: the token is of eu-2');
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('AGENT_ENV_MISMATCH: the token is of eu-2');
    expect(ended.stderr).toContain('the first tick ended with 78');
  });
});
