import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { createPublicCopy, needsRoot, nobodyUid, type PublicCopy, testIf } from '../../../fixtures/world/users.ts';
import { Fault } from '../../../machines/fault.ts';
import { acquireLock, readLock } from './lock.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const notHeld = { held: false, pid: null, since: null };
/** Starts many processes, possibly on a busy machine. */
let publicCopy: PublicCopy;
let dir: string;
beforeAll(() => void (publicCopy = createPublicCopy()));
afterAll(() => publicCopy.remove());
beforeEach(() => (dir = tempDir()));

const program = (then: string): string[] => [
  '--input-type=module',
  '-e',
  `import { acquireLock } from ${JSON.stringify(join(publicCopy.dir, 'src', 'agent', 'state', 'lock.ts'))};
   try { const lock = await acquireLock(${JSON.stringify(dir)}); ${then} } catch (error) { console.log(error.message); }`,
];

/** Output of another process that acquires and releases the lock. */
function acquireInProcess(options: { uid?: number } = {}): string {
  const { stdout, stderr } = spawnSync(publicCopy.node, program(`await lock.release(); console.log('taken')`), {
    cwd: publicCopy.dir,
    ...options,
  });
  expect(String(stderr)).toBe('');
  return String(stdout).trim();
}

async function startHolder(then = ''): Promise<ReturnType<typeof spawn>> {
  const child = spawn(process.execPath, program(`${then}; console.log('inside'); setInterval(() => lock, 1e6)`));
  await once(child.stdout, 'data');
  return child;
}

describe('a lock that is held', () => {
  it('is refused to another process, with a message that names the holder', async () => {
    const lock = await acquireLock(dir);
    const since = (await readLock(dir)).since ?? '';
    expect(new Date(since).toISOString()).toBe(since);
    expect(acquireInProcess()).toBe(`another tick holds the lock: pid=${process.pid} since=${since}`);
    await lock.release();
    expect(acquireInProcess()).toBe('taken');
  });

  it('is refused within the same process, and stays held', async () => {
    const lock = await acquireLock(dir);
    const error: unknown = await acquireLock(dir).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({ ending: 'busy', code: null });
    expect(acquireInProcess()).toContain('another tick holds the lock');
    await lock.release();
    await (await acquireLock(dir)).release();
  });

  it('is reported by readLock without side effects', async () => {
    const lock = await acquireLock(dir);
    expect(await readLock(dir)).toMatchObject({ held: true, pid: process.pid });
    expect(acquireInProcess()).toContain('another tick');
    await lock.release();
    expect(await readLock(dir)).toEqual(notHeld);
  });

  it('leaves only its guard file after release, also when released twice', async () => {
    const lock = await acquireLock(dir);
    expect(fs.readdirSync(dir).sort()).toEqual(['lock', 'lock.guard']);
    await lock.release();
    await lock.release();
    expect(fs.readdirSync(dir)).toEqual(['lock.guard']);
  });

  it('is respected although its guard file was removed', async () => {
    const child = await startHolder();
    fs.rmSync(join(dir, 'lock.guard'));
    await expect(acquireLock(dir)).rejects.toThrow(`pid=${child.pid ?? 0}`);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});

describe('a killed tick', () => {
  it('does not block the next tick', async () => {
    const child = await startHolder();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(fs.existsSync(join(dir, 'lock'))).toBe(true);
    expect(await readLock(dir)).toEqual(notHeld);
    await (await acquireLock(dir)).release();
  });

  it('does not block the next tick although a child process survives', async () => {
    const orphan = `(await import('node:child_process')).spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })`;
    const child = await startHolder(
      `const { pid } = ${orphan}; (await import('node:fs')).writeFileSync(${JSON.stringify(join(dir, 'orphan'))}, String(pid))`,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    const pid = Number(fs.readFileSync(join(dir, 'orphan'), 'utf8'));
    try {
      expect(process.kill(pid, 0)).toBe(true);
      await (await acquireLock(dir)).release();
    } finally {
      process.kill(pid, 'SIGKILL');
    }
  });

  const reused = { pid: process.ppid, start: '1', boot: '', since: '2026-01-01T00:00:00.000Z' };
  it.each([
    ['an empty file, as other tools create it', ''],
    ['a truncated record', '{"pid":'],
    ['JSON of another kind', '[null]'],
    ['a pid that was reused', JSON.stringify(reused)],
    ['a record from before the reboot', JSON.stringify({ ...reused, boot: 'another' })],
  ])('does not block the next tick when its lock file contains %s', async (_, content) => {
    fs.writeFileSync(join(dir, 'lock'), content);
    expect(await readLock(dir)).toEqual(notHeld);
    await (await acquireLock(dir)).release();
  });

  it.each([['x'], ['x'.repeat(10_000)], [`SQLite format 3\0${'x'.repeat(5000)}`]])(
    'does not block the next tick when the guard file is damaged (%#)',
    async (content) => {
      fs.writeFileSync(join(dir, 'lock.guard'), content);
      const lock = await acquireLock(dir);
      expect(acquireInProcess()).toContain('another tick');
      await lock.release();
    },
  );
});

describe('a state directory that cannot be locked', () => {
  testIf(needsRoot, 'names a guard file of root, and the command that fixes it', () => {
    for (const mode of [0o600, 0o644]) {
      fs.rmSync(join(dir, 'lock.guard'), { force: true });
      fs.writeFileSync(join(dir, 'lock.guard'), '');
      fs.chmodSync(join(dir, 'lock.guard'), mode);
      fs.chownSync(dir, nobodyUid, nobodyUid);
      const command = `sudo chown --reference=${dir} ${dir}/lock.guard && sudo chmod 600 ${dir}/lock.guard`;
      expect(acquireInProcess({ uid: nobodyUid })).toBe(
        `failed: cannot lock ${dir}/lock.guard: it belongs to uid 0; to cure it: ${command}`,
      );
    }
  });

  testIf(needsRoot, 'replaces a lock file of root when its guard is free', () => {
    fs.writeFileSync(join(dir, 'lock'), '', { mode: 0o600 });
    fs.chownSync(dir, nobodyUid, nobodyUid);
    expect(acquireInProcess({ uid: nobodyUid })).toBe('taken');
  });

  it('names a missing directory, and a directory in place of the lock', async () => {
    await expect(acquireLock(join(dir, 'absent'))).rejects.toThrow(
      `failed: cannot write ${dir}/absent/lock.guard: no such file or directory`,
    );
    fs.mkdirSync(join(dir, 'lock'));
    await expect(acquireLock(dir)).rejects.toThrow(`failed: cannot read ${dir}/lock: it is a directory`);
    fs.rmdirSync(join(dir, 'lock'));
    await (await acquireLock(dir)).release();
  });
});

describe('many concurrent ticks', () => {
  const stress = (...more: string[]) =>
    spawnSync(process.execPath, [join(root, 'fixtures', 'world', 'stress', 'lock.ts'), ...more], { encoding: 'utf8' });

  it('exactly one at a time holds the lock', () => {
    const { status, stdout } = stress('--rounds', '4', '--processes', '12', '--kills', '10');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('nobody blocked') as string });
  });

  it('would fail with the plain lockfile package', () => {
    const many = ['--rounds', '3', '--processes', '30', '--kills', '40'];
    const { status, stdout } = stress(...many, '--strategy', 'lockfile-only');
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringContaining('VIOLATED') as string });
  });
});
