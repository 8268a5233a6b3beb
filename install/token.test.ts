import { readdir, readFile, readlink } from 'node:fs/promises';
import { grant, type InstallWorld, openInstallWorld, optionsOf, token } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { type Running, type RunOptions } from './scratchHost.ts';

const file = 'run/deployd-install.conf';

let offer: InstallWorld;
beforeEach(async () => {
  if (isRoot) offer = await openInstallWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

const usual = () => ({ env: offer.env });
const given = () => ({ env: { ...offer.env, DEPLOYD_TOKEN: '' } });

/** Every command line on the host that holds it. */
async function showing(secret: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = pids.map(async (pid) => {
    const root = await readlink(`/proc/${pid}/root`).catch(() => '');
    return root === offer.host.root ? readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
  });
  return (await Promise.all(lines)).filter((line) => line.includes(secret));
}

/** Starts it and waits until the first download stands still. */
async function stalled(args = optionsOf(), options: RunOptions = usual()): Promise<Running> {
  offer.packages.answerNext('download', { stall: 'body' });
  const running = offer.host.start(args, options);
  await Promise.race([offer.packages.waitForRequest('download'), running.ended]);
  return running;
}

/** Where a stage waits: for the server, or in a program that is called. */
const stages = ['download', 'apt-get', 'deployd.status', 'deployd.bootstrap', 'systemctl.start'] as const;

async function startedTo(stage: (typeof stages)[number]): Promise<{ running: Running; go: () => Promise<unknown> }> {
  if (stage === 'download') return { running: await stalled(), go: async () => undefined };
  const { reached, go } = await offer.host.hold(stage);
  const running = offer.host.start(optionsOf(), usual());
  await reached;
  return { running, go };
}

describeIf(needsRoot, 'the download token', () => {
  it('is in one file for root alone while a download runs, and in no command line', async () => {
    const running = await stalled();
    expect(await offer.host.rights(file)).toBe('0600 root:root');
    expect(await offer.host.read(file)).toContain(`header = "DEPLOY-TOKEN: ${token}"`);
    expect(await showing(token)).toEqual([]);
    expect(await showing('/deployd-install.conf')).toHaveLength(1);
    running.child.kill();
    await running.ended;
  });

  it('given as an option leaves the command line', async () => {
    const running = await stalled(optionsOf({ token }), given());
    expect(offer.packages.requests[0]?.headers['deploy-token']).toBe(token);
    expect(await showing(token)).toEqual([]);
    running.child.kill();
    await running.ended;
  });

  it('is in no environment of a child process of the installer', async () => {
    const { reached, go } = await offer.host.hold('apt-get');
    const exported = { token: 'x', grant: 'x' };
    const running = offer.host.start(optionsOf(), { env: { ...offer.env, ...exported } });
    await reached;
    const children = await readFile(`/proc/${running.child.pid!}/task/${running.child.pid!}/children`, 'utf8');
    const environments = children
      .trim()
      .split(' ')
      .map((pid) => readFile(`/proc/${pid}/environ`, 'utf8'));
    expect((await Promise.all(environments)).filter((each) => each.includes(token) || each.includes(grant))).toEqual(
      [],
    );
    await go();
    await running.ended;
  });

  it.each([
    ['dash', '-x'],
    ['dash', '-xv'],
    ['dash', '-ax'],
    ['bash', '-x'],
    ['busybox', 'sh', '-x'],
  ])('is not traced by %s %s %s', async (...shell) => {
    for (const options of [usual(), given()]) {
      const ended = await offer.host.install(optionsOf({ token: options.env['DEPLOYD_TOKEN'] ? null : token }), {
        ...options,
        shell,
      });
      expect(ended.code).toBe(0);
      expect(ended.stdout + ended.stderr).not.toContain(token);
    }
  });

  it('is not printed when a piped script is traced', async () => {
    const ended = await offer.host.install(optionsOf({ token }), { ...given(), piped: true, shell: ['sh', '-x'] });
    expect(ended.code).toBe(0);
    expect(ended.stdout + ended.stderr).not.toContain(token);
  });

  it('is not in the files that the fetcher reads from the user’s own settings', async () => {
    await offer.host.write('root/.curlrc', 'verbose\ntrace-ascii = "/trace"\nlocation\n');
    const ended = await offer.host.install(optionsOf(), { env: { ...offer.env, HOME: '/root' } });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    await expect(offer.host.read('trace')).rejects.toThrow('ENOENT');
  });
});

describeIf(needsRoot, 'a signal', () => {
  it.each(stages.flatMap((stage) => (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => [name, stage] as const)))(
    '%s at %s leaves no token and no download',
    async (name, stage) => {
      const { running, go } = await startedTo(stage);
      if (stage !== 'download') expect(await offer.host.list('run')).not.toContain('deployd-install.conf');
      running.child.kill(name);
      await go();
      const { code, stderr } = await running.ended;
      expect(code).toBe({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[name]);
      expect(stderr).toContain(`stopped before it was done (${code}); run the installer again\n`);
      expect(await offer.host.list('run')).toEqual(['deployd-install.lock', 'systemd']);
      expect(await offer.host.list('var/cache')).toEqual([]);
      expect(await showing('/deployd-install.conf')).toEqual([]);
    },
  );

  it.each(['dash', 'busybox sh', 'bash'])('of any kind that can be caught leaves none under %s', async (shell) => {
    const names = ['SIGQUIT', 'SIGPIPE', 'SIGALRM', 'SIGUSR1', 'SIGUSR2', 'SIGABRT', 'SIGXCPU', 'SIGVTALRM'] as const;
    for (const name of names) {
      const seen = offer.packages.requests.length;
      offer.packages.answerNext('download', { stall: 'body' });
      const running = offer.host.start(optionsOf(), { ...usual(), shell: shell.split(' ') });
      await offer.packages.waitForRequest('download', seen + 1);
      running.child.kill(name);
      expect((await running.ended).code).toBeGreaterThan(128);
      expect(await offer.host.list('run')).toEqual(['deployd-install.lock', 'systemd']);
    }
  });

  it.each(['dash', 'busybox sh', 'bash'])('that comes again and again leaves none under %s', async (shell) => {
    const running = await stalled(optionsOf(), { ...usual(), shell: shell.split(' ') });
    const again = setInterval(() => running.child.kill(running.child.killed ? 'SIGHUP' : 'SIGTERM'), 0);
    await running.ended;
    clearInterval(again);
    expect(await offer.host.list('run')).toEqual(['deployd-install.lock', 'systemd']);
    expect(await offer.host.list('var/cache')).toEqual([]);
  });

  it('SIGKILL leaves the token to the next run, which removes it', async () => {
    const running = await stalled();
    running.child.kill('SIGKILL');
    await running.ended.catch(() => undefined);
    expect(await offer.host.list('run')).toContain('deployd-install.conf');
    const next = await offer.host.install(optionsOf({ env: 'Wrong' }), usual());
    expect(next.code).toBe(2);
    expect(await offer.host.list('run')).toEqual(['deployd-install.lock', 'systemd']);
    expect(await offer.host.list('var/cache')).toEqual([]);
  });

  it('SIGKILL anywhere leaves a host that the next run finishes', async () => {
    for (const stage of ['apt-get', 'deployd.status', 'deployd.bootstrap'] as const) {
      const { running, go } = await startedTo(stage);
      running.child.kill('SIGKILL');
      await go();
      await running.ended;
    }
    expect(await offer.host.install(optionsOf(), usual())).toMatchObject({ code: 0 });
    expect(await offer.host.list('etc/deployd')).toEqual(['config.yaml', 'timer.enabled']);
  });
});

describeIf(needsRoot, 'a second installer', () => {
  it('waits for nobody: it says that one runs', async () => {
    const first = await stalled();
    const second = await offer.host.install(optionsOf(), usual());
    expect(second).toMatchObject({
      code: 1,
      stderr: 'deployd install: another deployd installer is running; wait for it\n',
    });
    expect(await offer.host.list('run')).toContain('deployd-install.conf');
    first.child.kill();
    await first.ended;
  });
});
