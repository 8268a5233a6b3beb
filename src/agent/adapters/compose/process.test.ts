import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRedactor } from '../../secrets/redact.ts';
import { run, type Run } from './process.ts';

const how: Run = {
  argv: ['/bin/sh', '-c', ''],
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  timeoutS: 20,
  redactor: createRedactor(['hunter2-secret']),
};
const sh = (script: string, change: Partial<Run> = {}): Run => ({ ...how, argv: ['/bin/sh', '-c', script], ...change });
const never = new AbortController().signal;

/** A killed process may stay a zombie until its new parent looks. */
const isRunning = (pid: string): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

describe('a program that the agent runs (spec §12.1)', () => {
  it('sees only the environment it is given, and no stdin', async () => {
    process.env['CANARY_OF_THE_AGENT'] = 'yes';
    const { stdout } = await run(sh('env; cat'), never);
    expect(stdout).not.toContain('CANARY');
    expect(stdout).toContain('PATH=/usr/bin:/bin');
  });

  it('has its output redacted and cut to the last 8 KiB', async () => {
    const { rc, tail } = await run(
      sh('i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo hunter2-secret >&2; exit 18'),
      never,
    );
    expect(rc).toBe(18);
    expect(tail).toContain('[REDACTED]');
    expect(tail).not.toContain('hunter2');
    expect(tail.length).toBeLessThanOrEqual(8192);
  });

  it('is told from one that is missing', async () => {
    expect((await run({ ...how, argv: ['/no/such/program'] }, never)).rc).toBe(127);
  });

  it('is ended with all its children when its time is over', async () => {
    const { rc, timedOut, stdout } = await run(sh('sleep 1000 & echo $!; wait', { timeoutS: 2 }), never);
    expect({ rc, timedOut }).toEqual({ rc: 143, timedOut: true });
    expect(isRunning(stdout.trim())).toBe(false);
  });

  it('is not waited for by what left its group and holds its output', async () => {
    const began = Date.now();
    const { timedOut } = await run(sh('setsid sleep 60 & wait', { timeoutS: 0.2 }), never);
    expect(timedOut).toBe(true);
    expect(Date.now() - began).toBeLessThan(15_000);
  }, 20_000);

  it('is ended with all its children by an abort, which is then the outcome', async () => {
    const stop = new AbortController();
    const running = run(sh('trap "" TERM; sleep 1000 & wait; wait'), stop.signal);
    stop.abort();
    await expect(running).rejects.toMatchObject({ ending: 'stopped' });
  }, 20_000);

  it('has ended when it exits, whatever left its group and holds its output', async () => {
    const began = performance.now();
    const { rc, timedOut, stdout } = await run(sh('setsid sleep 60 & echo all of it', { timeoutS: 20 }), never);
    expect({ rc, timedOut, stdout }).toEqual({ rc: 0, timedOut: false, stdout: 'all of it\n' });
    expect(performance.now() - began).toBeLessThan(10_000);
  }, 30_000);

  it('has all of its output read, however late we get to it', async () => {
    const script = 'setsid sleep 60 & head -c 60000 /dev/zero | tr "\\0" x';
    let heard = 0;
    const running = run(sh(script, { hear: (chunk) => (heard += chunk.length) }), never);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    expect(await running).toMatchObject({ rc: 0, timedOut: false });
    expect(heard).toBe(60_000);
  }, 30_000);
});

describe('a program that cannot be started', () => {
  it('has failed by what the system says', async () => {
    expect(await run({ ...how, argv: ['/bin/echo', 'x'.repeat(200_000)] }, never)).toMatchObject({
      rc: 127,
      unstarted: 'E2BIG',
    });
    expect(await run({ ...how, argv: ['/etc/passwd'] }, never)).toMatchObject({ rc: 127, unstarted: 'EACCES' });
  });

  it('has failed where no descriptor is left, without ending us', () => {
    const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { run } from ${module('./process.ts')};
      import { createRedactor } from ${module('../../secrets/redact.ts')};
      const how = { argv: ['/bin/echo', 'hi'], cwd: '/', env: {}, timeoutS: 20, redactor: createRedactor([]) };
      const ask = () => run(how, new AbortController().signal).then(({ rc, unstarted }) => [rc, unstarted], String);
      await ask();
      const [held, told] = [[], []];
      for (let free = 0; free < 16; free++) {
        try { for (;;) held.push(openSync('/dev/null')); } catch {}
        for (const fd of held.splice(0, free)) closeSync(fd);
        told.push(await ask());
      }
      for (const fd of held) closeSync(fd);
      console.log(JSON.stringify(told));`;
    const argv = ['--nofile=64', process.execPath, '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync('prlimit', argv, { encoding: 'utf8' });
    expect(stderr).toBe('');
    const told = JSON.parse(stdout) as [number, string | null][];
    expect(told[0]).toEqual([127, 'EMFILE']);
    expect(told.at(-1)).toEqual([0, null]);
    for (const each of told)
      expect([
        [127, 'EMFILE'],
        [0, null],
      ]).toContainEqual(each);
  });
});
