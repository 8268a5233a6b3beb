import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { emptyState, type State } from './state.rules.ts';
import { readState, StateFile } from './stateFile.ts';

const sha = 'a'.repeat(64);
let dir: string;
let warnings: string[];
let rebuilds: number;
beforeEach(async () => {
  dir = tempDir();
  warnings = [];
  rebuilds = 0;
});

describe('on a new host', () => {
  it('starts empty, without a warning', async () => {
    expect(await open().load()).toEqual(emptyState('eu-1'));
    expect([warnings, rebuilds, await readdir(dir)]).toEqual([[], 0, []]);
  });

  it('is rebuilt when there is a current release', async () => {
    await promote('eu-1');
    expect(await open().load()).toEqual({ ...emptyState('eu-1'), applied_sha: sha });
    expect(warnings).toEqual([
      'STATE_CORRUPT: state.json is missing although releases exist; rebuilt from the releases',
    ]);
    expect(await readState(dir)).toMatchObject({ applied_sha: sha });
  });
});

describe('an update', () => {
  it('is read by the next tick', async () => {
    const token = { ...emptyState('eu-1').token, renewable: true };
    const file = open();
    await file.load();
    await file.update({ highest_sequence: 7, token });
    expect(file.state.highest_sequence).toBe(7);
    expect(await open().load()).toEqual({
      ...emptyState('eu-1'),
      highest_sequence: 7,
      token,
    });
  });

  it('is readable by its owner only', async () => {
    await open().update({ highest_sequence: 7 });
    expect((await stat(path())).mode & 0o777).toBe(0o600);
  });

  it('writes nothing when nothing changes', async () => {
    await open().update({ highest_sequence: 7 });
    const before = await stat(path());
    const file = open();
    await file.load();
    await file.update({ highest_sequence: 7 });
    expect((await stat(path())).ino).toBe(before.ino);
    await file.update({ highest_sequence: 8 });
    const after = await stat(path());
    await file.update({ highest_sequence: 8 });
    expect((await stat(path())).ino).toBe(after.ino);
  });

  it('that cannot be written has no effect, and the next one succeeds', async () => {
    const file = open();
    await mkdir(join(path(), 'in-the-way'), { recursive: true });
    await expect(file.update({ highest_sequence: 7 })).rejects.toMatchObject({ code: 'DISK_WRITE_FAILED' });
    expect(file.state).toMatchObject({ highest_sequence: 0 });
    await rm(path(), { recursive: true });
    await file.update({ production: true });
    expect(await readState(dir)).toMatchObject({ highest_sequence: 0, production: true });
  });
});

describe('an invalid file', () => {
  it.each(['', '{"schema":1', '{"schema":9}'])('(%j) is kept as a copy, reported and rebuilt', async (text) => {
    await writeFile(path(), text);
    expect(await open().load()).toEqual({ ...emptyState('eu-1'), applied_sha: sha });
    const [copy] = await corruptCopies();
    expect(await readFile(join(dir, copy!), 'utf8')).toBe(text);
    expect(warnings).toEqual([
      expect.stringMatching(/^STATE_CORRUPT: state\.json is .+; kept as state\.json\.corrupt-/),
    ]);
    expect(warnings[0]).toContain(copy);
    expect(await open().load()).toMatchObject({ applied_sha: sha });
    expect(rebuilds).toBe(1);
  });

  it('stays in place while the rebuild fails', async () => {
    await writeFile(path(), 'x');
    const file = open(() => Promise.reject(new Error('engine gone')));
    await expect(file.load()).rejects.toThrow('engine gone');
    expect(await readFile(path(), 'utf8')).toBe('x');
  });

  it('is kept in at most five copies', async () => {
    const old = [1, 2, 3, 4, 5, 6].map((day) => `state.json.corrupt-2026-01-0${day}T00-00-00.000Z`);
    for (const name of old) await writeFile(join(dir, name), '');
    await writeFile(path(), 'x');
    await open().load();
    const left = await corruptCopies();
    expect(left).toHaveLength(5);
    expect(left.slice(0, 4)).toEqual(old.slice(2));
  });
});

describe('an unreadable file', () => {
  it.each([
    ['a directory', () => mkdir(path()), 'it is a directory'],
    ['a FIFO', async () => execFileSync('mkfifo', [path()]), 'it is not a regular file'],
    ['a device', () => symlink('/dev/zero', path()), 'it is not a regular file'],
    ['a circular link', () => symlink('state.json', path()), 'ELOOP'],
  ])('(%s) is reported with path and cause, and left unchanged', async (_kind, make, cause) => {
    await promote('eu-1');
    await make();
    const before = await readdir(dir);
    await expect(open().load()).rejects.toThrow(`failed: cannot read ${path()}: ${cause}`);
    expect([warnings, rebuilds, await readdir(dir)]).toEqual([[], 0, before]);
  });
});

describe('the state of another env', () => {
  it('is parked under the name of its env, and restored when the host changes back', async () => {
    const there = open(undefined, 'eu-2');
    await there.update({ highest_sequence: 9 });

    expect(await open().load()).toEqual(emptyState('eu-1'));
    expect(warnings).toEqual(['state.json belongs to environment eu-2; kept as state.json.env-eu-2']);
    await open().update({ highest_sequence: 3 });

    expect(await open(undefined, 'eu-2').load()).toMatchObject({ env: 'eu-2', highest_sequence: 9 });
    expect(await open().load()).toMatchObject({ env: 'eu-1', highest_sequence: 3 });
  });

  it('does not prevent the rebuild of this env', async () => {
    await open(undefined, 'eu-2').update({ highest_sequence: 9 });
    await promote('eu-1');
    expect(await open().load()).toMatchObject({ env: 'eu-1', applied_sha: sha, highest_sequence: 0 });
  });
});

function open(rebuild?: () => Promise<Partial<State>>, env = 'eu-1'): StateFile {
  const counted = async () => {
    rebuilds += 1;
    return { applied_sha: sha };
  };
  return new StateFile({ stateDir: dir, env, warn: (line) => void warnings.push(line), rebuild: rebuild ?? counted });
}

async function promote(env: string): Promise<void> {
  await mkdir(join(dir, env));
  await symlink(`releases/${sha}`, join(dir, env, 'current'));
}

async function corruptCopies(): Promise<string[]> {
  return (await readdir(dir)).filter((name) => name.includes('corrupt')).toSorted();
}

function path(): string {
  return join(dir, 'state.json');
}
