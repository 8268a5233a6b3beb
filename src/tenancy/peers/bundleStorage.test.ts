import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { bundleStorageTests } from '../../../fixtures/suites/tenancy/bundleStorageTests.ts';
import { createDirectoryStorage } from './bundleStorage.ts';

const sha256 = 'a'.repeat(64);

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd bundles-'))));
afterEach(() => rm(dir, { recursive: true }));

describe('bundles in a directory', () => {
  bundleStorageTests(async () => {
    await writeFile(join(dir, 'file'), '');
    await symlink('loop', join(dir, 'loop'));
    const storage = createDirectoryStorage(join(dir, 'state', 'bundles'));
    return { storage, broken: createDirectoryStorage(join(dir, 'loop')) };
  });

  it('describes the fault of the directory', async () => {
    await writeFile(join(dir, 'file'), '');
    const inFile = createDirectoryStorage(join(dir, 'file', 'bundles'));
    await expect(inFile.check()).rejects.toThrow('bundle storage: cannot check: ENOTDIR');
  });

  it('stores only archives, and removes leftovers of a crash', async () => {
    const bundles = join(dir, 'bundles');
    await mkdir(bundles);
    const file = join(dir, 'file');
    await writeFile(file, 'a');
    for (const name of ['old', 'new']) await writeFile(join(bundles, `.deployd.tmp-${name}`), '');
    await utimes(join(bundles, '.deployd.tmp-old'), 0, 0);
    const storage = createDirectoryStorage(bundles);
    await storage.check();
    await storage.store(sha256, file);
    expect((await readdir(bundles)).toSorted()).toEqual(['.deployd.tmp-new', sha256]);
  });

  it('keeps the previous archive if it cannot be stored again', async () => {
    const [bundles, file] = [join(dir, 'bundles'), join(dir, 'file')];
    await writeFile(file, 'a');
    const storage = createDirectoryStorage(bundles);
    await storage.store(sha256, file);
    await expect(storage.store(sha256, dir)).rejects.toThrow('bundle storage: cannot store: ');
    expect(await readdir(bundles)).toEqual([sha256]);
    expect(await text((await storage.open(sha256))!)).toBe('a');
  });

  it('does not follow a symbolic link', async () => {
    await symlink('/etc/passwd', join(dir, sha256));
    await expect(createDirectoryStorage(dir).open(sha256)).rejects.toThrow('bundle storage: cannot read: ELOOP');
  });
});
