import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { waitUntil } from '../../../fixtures/world/wait.ts';
import { createRedactor } from '../secrets/redactor.ts';
import { type RunOptions, runProgram } from './programs.ts';

const options: RunOptions = {
  argv: ['/bin/sh', '-c', ''],
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  timeoutS: 20,
  redactor: createRedactor(['hunter2-secret']),
};
const sh = (script: string, change: Partial<RunOptions> = {}): RunOptions => ({
  ...options,
  argv: ['/bin/sh', '-c', script],
  ...change,
});
const never = new AbortController().signal;

/** A killed process may stay a zombie until its parent reaps it. */
const isRunning = (pid: string): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

describe('a program that the agent runs (spec §12.1)', () => {
  it('sees only the environment it is given, and no stdin', async () => {
    process.env['CANARY_OF_THE_AGENT'] = 'yes';
    const { stdout } = await runProgram(sh('env; cat'), never);
    expect(stdout).not.toContain('CANARY');
    expect(stdout).toContain('PATH=/usr/bin:/bin');
  });

  it('reads its given input, or ends before it has read all', async () => {
    const input = 'x'.repeat(1024 * 1024);
    expect((await runProgram(sh('wc -c', { stdin: input }), never)).stdout.trim()).toBe('1048576');
    expect(await runProgram(sh('exit 3', { stdin: input }), never)).toMatchObject({ rc: 3, tail: '' });
  });

  it('has its output redacted and cut to the last 8 KiB', async () => {
    const { rc, tail } = await runProgram(
      sh('i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo hunter2-secret >&2; exit 18'),
      never,
    );
    expect(rc).toBe(18);
    expect(tail).toContain('[REDACTED]');
    expect(tail).not.toContain('hunter2');
    expect(tail.length).toBeLessThanOrEqual(8192);
  });

  it('has exit code 127 when it is missing', async () => {
    expect((await runProgram({ ...options, argv: ['/no/such/program'] }, never)).rc).toBe(127);
  });

  it('is terminated with all its children on timeout', async () => {
    const { rc, timedOut, stdout } = await runProgram(sh('sleep 1000 & echo $!; wait', { timeoutS: 2 }), never);
    expect({ rc, timedOut }).toEqual({ rc: 143, timedOut: true });
    // Its end of the output closes a moment before the child counts as ended.
    await waitUntil('the child has ended', async () => !isRunning(stdout.trim()));
  });

  it('is not awaited after a timeout when a process outside its group holds its output open', async () => {
    const began = Date.now();
    const { timedOut } = await runProgram(sh('setsid sleep 60 & wait', { timeoutS: 0.2 }), never);
    expect(timedOut).toBe(true);
    expect(Date.now() - began).toBeLessThan(15_000);
  }, 20_000);

  it('is terminated with all its children on abort, and `stopped` is thrown', async () => {
    const stop = new AbortController();
    const running = runProgram(sh('trap "" TERM; sleep 1000 & wait; wait'), stop.signal);
    stop.abort();
    await expect(running).rejects.toMatchObject({ ending: 'stopped' });
  }, 20_000);

  it('has ended when it exits, even if a process outside its group holds its output open', async () => {
    const began = performance.now();
    const { rc, timedOut, stdout } = await runProgram(sh('setsid sleep 60 & echo all of it', { timeoutS: 20 }), never);
    expect({ rc, timedOut, stdout }).toEqual({ rc: 0, timedOut: false, stdout: 'all of it\n' });
    expect(performance.now() - began).toBeLessThan(10_000);
  }, 30_000);

  it('has all of its output read, even when the agent is blocked meanwhile', async () => {
    const script = 'setsid sleep 60 & head -c 60000 /dev/zero | tr "\\0" x';
    let received = 0;
    const running = runProgram(sh(script, { onStdout: (chunk) => (received += chunk.length) }), never);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    expect(await running).toMatchObject({ rc: 0, timedOut: false });
    expect(received).toBe(60_000);
  }, 30_000);
});

describe('a program that cannot be started', () => {
  it('fails with the error code of the system', async () => {
    expect(await runProgram({ ...options, argv: ['/bin/echo', 'x'.repeat(200_000)] }, never)).toMatchObject({
      rc: 127,
      startError: 'E2BIG',
    });
    expect(await runProgram({ ...options, argv: ['/etc/passwd'] }, never)).toMatchObject({
      rc: 127,
      startError: 'EACCES',
    });
  });

  it('fails when no file descriptor is free, without a crash of the agent', () => {
    const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { runProgram } from ${module('./programs.ts')};
      import { createRedactor } from ${module('../secrets/redactor.ts')};
      const options = { argv: ['/bin/echo', 'hi'], cwd: '/', env: {}, timeoutS: 20, redactor: createRedactor([]) };
      const attempt = () => runProgram(options, new AbortController().signal).then(({ rc, startError }) => [rc, startError], String);
      await attempt();
      const [opened, results] = [[], []];
      for (let free = 0; free < 16; free++) {
        try { for (;;) opened.push(openSync('/dev/null')); } catch {}
        for (const fd of opened.splice(0, free)) closeSync(fd);
        results.push(await attempt());
      }
      for (const fd of opened) closeSync(fd);
      console.log(JSON.stringify(results));`;
    const argv = ['--nofile=64', process.execPath, '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync('prlimit', argv, { encoding: 'utf8' });
    expect(stderr).toBe('');
    const results = JSON.parse(stdout) as [number, string | null][];
    expect(results[0]).toEqual([127, 'EMFILE']);
    expect(results.at(-1)).toEqual([0, null]);
    for (const each of results)
      expect([
        [127, 'EMFILE'],
        [0, null],
      ]).toContainEqual(each);
  });
});
