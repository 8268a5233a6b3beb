import { jest } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import { type Commons, nobody, openCommons, rootUser, testWith } from '../../../../fixtures/users.ts';
import { readLock, takeLock } from './lock.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const nobodyHolds = { held: false, pid: null, since: null };
/** Many processes on a busy machine. */
jest.setTimeout(60_000);
let commons: Commons;
let dir: string;
beforeAll(() => void (commons = openCommons()));
afterAll(() => commons.remove());
beforeEach(() => (dir = fs.mkdtempSync(join(tmpdir(), 'lock-'))));
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

const program = (then: string): string[] => [
  '--input-type=module',
  '-e',
  `import { takeLock } from ${JSON.stringify(join(commons.dir, 'src', 'agent', 'adapters', 'files', 'lock.ts'))};
   try { const lock = await takeLock(${JSON.stringify(dir)}); ${then} } catch (error) { console.log(error.message); }`,
];

/** What another process says that takes the lock and frees it at once. */
function another(options: { uid?: number } = {}): string {
  const { stdout, stderr } = spawnSync(commons.node, program(`await lock.release(); console.log('taken')`), {
    cwd: commons.dir,
    ...options,
  });
  expect(String(stderr)).toBe('');
  return String(stdout).trim();
}

async function holder(then = ''): Promise<ReturnType<typeof spawn>> {
  const child = spawn(process.execPath, program(`${then}; console.log('inside'); setInterval(() => lock, 1e6)`));
  await once(child.stdout, 'data');
  return child;
}

describe('a lock that is held', () => {
  it('is refused to another process, which is told who holds it', async () => {
    const lock = await takeLock(dir);
    const since = (await readLock(dir)).since ?? '';
    expect(new Date(since).toISOString()).toBe(since);
    expect(another()).toBe(`another tick holds the lock: pid=${process.pid} since=${since}`);
    await lock.release();
    expect(another()).toBe('taken');
  });

  it('is refused within the same process, and stays held', async () => {
    const lock = await takeLock(dir);
    const error: unknown = await takeLock(dir).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({ ending: 'busy', code: null });
    expect(another()).toContain('another tick holds the lock');
    await lock.release();
    await (await takeLock(dir)).release();
  });

  it('is seen by readLock, which does not disturb it', async () => {
    const lock = await takeLock(dir);
    expect(await readLock(dir)).toMatchObject({ held: true, pid: process.pid });
    expect(another()).toContain('another tick');
    await lock.release();
    expect(await readLock(dir)).toEqual(nobodyHolds);
  });

  it('leaves only its guard behind when it is freed, once or twice', async () => {
    const lock = await takeLock(dir);
    expect(fs.readdirSync(dir).sort()).toEqual(['lock', 'lock.guard']);
    await lock.release();
    await lock.release();
    expect(fs.readdirSync(dir)).toEqual(['lock.guard']);
  });

  it('is respected although somebody took its guard away', async () => {
    const child = await holder();
    fs.rmSync(join(dir, 'lock.guard'));
    await expect(takeLock(dir)).rejects.toThrow(`pid=${child.pid ?? 0}`);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});

describe('a tick that died', () => {
  it('blocks nobody', async () => {
    const child = await holder();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(fs.existsSync(join(dir, 'lock'))).toBe(true);
    expect(await readLock(dir)).toEqual(nobodyHolds);
    await (await takeLock(dir)).release();
  });

  it('blocks nobody although a child of it lives on', async () => {
    const orphan = `(await import('node:child_process')).spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })`;
    const child = await holder(
      `const { pid } = ${orphan}; (await import('node:fs')).writeFileSync(${JSON.stringify(join(dir, 'orphan'))}, String(pid))`,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    const pid = Number(fs.readFileSync(join(dir, 'orphan'), 'utf8'));
    try {
      expect(process.kill(pid, 0)).toBe(true);
      await (await takeLock(dir)).release();
    } finally {
      process.kill(pid, 'SIGKILL');
    }
  });

  const reused = { pid: process.ppid, start: '1', boot: '', since: '2026-01-01T00:00:00.000Z' };
  it.each([
    ['nothing, as other tools make it', ''],
    ['half a record', '{"pid":'],
    ['JSON of another kind', '[null]'],
    ['a pid that another process has by now', JSON.stringify(reused)],
    ['a record from before the reboot', JSON.stringify({ ...reused, boot: 'another' })],
  ])('blocks nobody when its lock holds %s', async (_, content) => {
    fs.writeFileSync(join(dir, 'lock'), content);
    expect(await readLock(dir)).toEqual(nobodyHolds);
    await (await takeLock(dir)).release();
  });

  it.each([['x'], ['x'.repeat(10_000)], [`SQLite format 3\0${'x'.repeat(5000)}`]])(
    'blocks nobody when the guard was damaged (%#)',
    async (content) => {
      fs.writeFileSync(join(dir, 'lock.guard'), content);
      const lock = await takeLock(dir);
      expect(another()).toContain('another tick');
      await lock.release();
    },
  );
});

describe('a state directory that cannot be locked', () => {
  testWith(rootUser, 'names the guard that belongs to root, and the cure', () => {
    for (const mode of [0o600, 0o644]) {
      fs.rmSync(join(dir, 'lock.guard'), { force: true });
      fs.writeFileSync(join(dir, 'lock.guard'), '');
      fs.chmodSync(join(dir, 'lock.guard'), mode);
      fs.chownSync(dir, nobody, nobody);
      const cure = `sudo chown --reference=${dir} ${dir}/lock.guard && sudo chmod 600 ${dir}/lock.guard`;
      expect(another({ uid: nobody })).toBe(
        `failed: cannot lock ${dir}/lock.guard: it belongs to uid 0; to cure it: ${cure}`,
      );
    }
  });

  testWith(rootUser, 'takes away the lock of root when its guard is free', () => {
    fs.writeFileSync(join(dir, 'lock'), '', { mode: 0o600 });
    fs.chownSync(dir, nobody, nobody);
    expect(another({ uid: nobody })).toBe('taken');
  });

  it('tells a directory that is not there, and one in the place of the lock', async () => {
    await expect(takeLock(join(dir, 'absent'))).rejects.toThrow(
      `failed: cannot write ${dir}/absent/lock.guard: no such file or directory`,
    );
    fs.mkdirSync(join(dir, 'lock'));
    await expect(takeLock(dir)).rejects.toThrow(`failed: cannot read ${dir}/lock: a directory stands in its place`);
    fs.rmdirSync(join(dir, 'lock'));
    await (await takeLock(dir)).release();
  });
});

describe('many at once', () => {
  const stress = (...more: string[]) =>
    spawnSync(process.execPath, [join(root, 'fixtures', 'stress', 'lock.ts'), ...more], { encoding: 'utf8' });

  it('never lets two in, and never nobody', () => {
    const { status, stdout } = stress('--rounds', '4', '--processes', '12', '--kills', '10');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('nobody blocked') as string });
  });

  it('would see the plain lockfile package fail', () => {
    const many = ['--rounds', '8', '--processes', '40', '--kills', '40'];
    const { status, stdout } = stress(...many, '--strategy', 'lockfile-only');
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringContaining('VIOLATED') as string });
  });
});
