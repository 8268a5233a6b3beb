import { existsSync, readFileSync } from 'node:fs';
import { createRedactor } from '../secrets/redact.ts';
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
});
