import { rm } from 'node:fs/promises';
import { type InstallWorld, openInstalledWorld, optionsOf } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';

let offer: InstallWorld;
beforeEach(async () => {
  if (isRoot) offer = await openInstalledWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
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
