import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { Fault } from '../../../machines/fault.ts';
import * as files from './durableFiles.ts';

let dir: string;
beforeEach(() => (dir = tempDir()));

const modeOf = (path: string): number => statSync(path).mode & 0o7777;
const faultOf = async (work: Promise<void>): Promise<Fault> => {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Fault);
  return error as Fault;
};

/** Reads a file repeatedly in a worker thread and reports the sizes it found. */
const reading = `const { parentPort, workerData } = require('node:worker_threads');
  const lengths = new Set();
  parentPort.postMessage('begins');
  while (Atomics.load(workerData.ended, 0) === 0) lengths.add(require('node:fs').readFileSync(workerData.path).length);
  parentPort.postMessage(lengths);`;

describe('writing', () => {
  it.each([0o022, 0o077])('gives the exact mode under umask %o', async (umask) => {
    const before = process.umask(umask);
    try {
      await files.writeDurably(join(dir, 'a'), 'text', 0o644);
    } finally {
      process.umask(before);
    }
    expect(modeOf(join(dir, 'a'))).toBe(0o644);
  });

  it('replaces the file and its mode, and leaves nothing else', async () => {
    writeFileSync(join(dir, 'a'), 'old', { mode: 0o644 });
    await files.writeDurably(join(dir, 'a'), Buffer.from([0, 255]), 0o600);
    expect(readFileSync(join(dir, 'a'))).toEqual(Buffer.from([0, 255]));
    expect(modeOf(join(dir, 'a'))).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['a']);
  });

  it('never shows a partial file to a reader', async () => {
    const [long, short] = ['x'.repeat(300_000), 'y'];
    const path = join(dir, 'a');
    await files.writeDurably(path, short, 0o600);
    const ended = new Int32Array(new SharedArrayBuffer(4));
    const reader = new Worker(reading, { eval: true, workerData: { path, ended } });
    await once(reader, 'message');
    for (let n = 0; n < 20; n++) await files.writeDurably(path, n % 2 ? short : long, 0o600);
    Atomics.store(ended, 0, 1);
    const [lengths] = (await once(reader, 'message')) as [Set<number>];
    // A reader without a processor may see only some of the files.
    expect(lengths.size).toBeGreaterThan(0);
    expect([...lengths].filter((length) => length !== 1 && length !== 300_000)).toEqual([]);
  });

  it('names a missing directory, and leaves no temporary', async () => {
    const fault = await faultOf(files.writeDurably(join(dir, 'absent', 'a'), '', 0o600));
    expect(fault.message).toBe(`failed: cannot write ${dir}/absent/a: no such file or directory`);
    expect([fault.ending, fault.code]).toEqual(['failed', 'DISK_WRITE_FAILED']);
  });

  it('replaces several files in order, up to the first that fails', async () => {
    await files.writeAllDurably(dir, { a: 'old', b: 'old', c: 'old' }, 0o644);
    rmSync(join(dir, 'b'));
    mkdirSync(join(dir, 'b'));
    const fault = await faultOf(files.writeAllDurably(dir, { a: 'new', b: 'new', c: 'new' }, 0o600));
    expect(fault.message).toContain(`cannot write ${dir}/b: it is a directory`);
    expect([readFileSync(join(dir, 'a'), 'utf8'), readFileSync(join(dir, 'c'), 'utf8')]).toEqual(['new', 'old']);
    expect([modeOf(join(dir, 'a')), modeOf(join(dir, 'c'))]).toEqual([0o600, 0o644]);
    expect(readdirSync(dir)).toEqual(['a', 'b', 'c']);
  });

  it('removes its temporary when a directory is in the way', async () => {
    mkdirSync(join(dir, 'a'));
    const fault = await faultOf(files.writeDurably(join(dir, 'a'), 'x', 0o600));
    expect(fault.message).toContain('it is a directory');
    expect(readdirSync(dir)).toEqual(['a']);
  });

  it('names a full filesystem and keeps the old file', async () => {
    const disk = join(dir, 'disk');
    mkdirSync(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
    if (mounted.status !== 0) {
      needsRoot();
      return;
    }
    try {
      await files.writeDurably(join(disk, 'a'), 'old', 0o600);
      const fault = await faultOf(files.writeDurably(join(disk, 'a'), 'x'.repeat(200_000), 0o600));
      expect(fault.message).toBe(`failed: cannot write ${disk}/a: no space left on the filesystem`);
      expect(readFileSync(join(disk, 'a'), 'utf8')).toBe('old');
      expect(readdirSync(disk)).toEqual(['a']);
    } finally {
      spawnSync('umount', [disk]);
    }
  });
});

describe('removing', () => {
  it('removes a file, and succeeds when it is absent', async () => {
    writeFileSync(join(dir, 'a'), '');
    await files.removeDurably(join(dir, 'a'));
    await files.removeDurably(join(dir, 'a'));
    await files.removeDurably(join(dir, 'absent', 'a'));
    expect(readdirSync(dir)).toEqual([]);
  });

  it('names what it cannot remove', async () => {
    mkdirSync(join(dir, 'a'));
    const fault = await faultOf(files.removeDurably(join(dir, 'a')));
    expect(fault.message).toMatch(/^failed: cannot remove .*\/a: it is a directory/);
  });
});

describe('links', () => {
  it('replaces a link', async () => {
    await files.symlinkDurably('one', join(dir, 'current'));
    await files.symlinkDurably('two', join(dir, 'current'));
    expect(readlinkSync(join(dir, 'current'))).toBe('two');
    expect(readdirSync(dir)).toEqual(['current']);
  });

  it('does not replace a real directory', async () => {
    mkdirSync(join(dir, 'current'));
    const fault = await faultOf(files.symlinkDurably('one', join(dir, 'current')));
    expect(fault.message).toBe(`failed: cannot write ${dir}/current: it is a directory; move it away`);
    expect(readdirSync(dir)).toEqual(['current']);
  });
});

describe('renaming', () => {
  it('moves a directory, but not over one with content', async () => {
    mkdirSync(join(dir, 'a'));
    mkdirSync(join(dir, 'b'));
    await files.renameDurably(join(dir, 'a'), join(dir, 'b'));
    mkdirSync(join(dir, 'c', 'd'), { recursive: true });
    const fault = await faultOf(files.renameDurably(join(dir, 'b'), join(dir, 'c')));
    expect(fault.message).toContain('it is a directory that is not empty');
    expect(readdirSync(dir)).toEqual(['b', 'c']);
  });
});

describe('syncing', () => {
  const never = new AbortController().signal;

  it('stops on abort', async () => {
    await expect(files.syncTree(dir, AbortSignal.abort())).rejects.toThrow('stopped by SIGTERM');
  });

  it('syncs every file and directory, and follows no link', async () => {
    mkdirSync(join(dir, 'a', 'b'), { recursive: true });
    writeFileSync(join(dir, 'a', 'b', 'c'), '');
    symlinkSync('/nowhere', join(dir, 'a', 'link'));
    await files.syncTree(dir, never);
    await expect(files.syncTree(join(dir, 'absent'), never)).rejects.toThrow('no such file or directory');
  });
});

describe('removing stale temporaries', () => {
  it('removes the temporary files of dead processes and keeps those from running ones', async () => {
    const deadPid = spawnSync(process.execPath, ['-e', '']).pid;
    const runningChild = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)']);
    try {
      const own = (pid = 0) => `.deployd.tmp-${pid}`;
      const others = ['.deployd.tmp-x-1', '.a.tmp-1-1', 'a.tmp-1-1', 'store.token'];
      const expected = [`${own(process.pid)}-1`, `${own(runningChild.pid)}-2`, ...others];
      for (const name of [...expected, `${own(deadPid)}-3`]) writeFileSync(join(dir, name), '');
      symlinkSync('x', join(dir, `${own(deadPid)}-4`));
      await files.removeStaleTemporaries(dir);
      expect(readdirSync(dir).sort()).toEqual(expected.sort());
    } finally {
      runningChild.kill('SIGKILL');
    }
  });
});

function needsRoot(): void {
  process.stderr.write('files.test.ts: cannot mount a small filesystem here: the test of a full disk was NOT run\n');
  expect(process.env['CI']).not.toBe('true');
}
