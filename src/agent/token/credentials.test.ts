import { chmod, chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { asNobody, isRoot, nobodyUid } from '../../../fixtures/world/users.ts';
import { type Credentials, openCredentials } from './credentials.ts';

let dir: string;
let token: string;
let grant: string;
let credentials: Credentials;
beforeEach(async () => {
  dir = tempDir();
  token = join(dir, 'store.token');
  grant = join(dir, 'etc', 'bootstrap.jwt');
  await mkdir(join(dir, 'etc'));
  credentials = openCredentials({ state_dir: dir, bootstrap_file: grant });
});
afterEach(async () => {
  await chmod(dirname(grant), 0o755);
});

it('finds no credentials on a new host', async () => {
  expect([await credentials.readToken(), await credentials.readGrant()]).toEqual([null, null]);
  expect([await credentials.hasToken(), await credentials.hasGrant()]).toEqual([false, false]);
});

it('reads back the token that it wrote, in a file for its owner only', async () => {
  await credentials.writeToken('s.abc');
  expect([await credentials.readToken(), await credentials.hasToken()]).toEqual(['s.abc', true]);
  expect((await stat(token)).mode & 0o777).toBe(0o600);
});

it('trims white space around the grant', async () => {
  await writeFile(grant, '\n  ey.J0.x \r\n');
  expect([await credentials.readGrant(), await credentials.hasGrant()]).toEqual(['ey.J0.x', true]);
});

it.each(['', ' \n'])('treats an empty file (%j) as absent', async (content) => {
  await writeFile(token, content);
  expect([await credentials.readToken(), await credentials.hasToken()]).toEqual([null, false]);
});

it.each([
  ['x'.repeat(16_385), 'holds more than 16 KiB'],
  ['s.abc\ns.def', 'holds more than one word of plain characters'],
  ['s.\u0000abc', 'holds more than one word of plain characters'],
])('rejects an invalid token without repeating it %#', async (content, expected) => {
  await writeFile(token, content);
  await expect(credentials.readToken()).rejects.toMatchObject({
    code: 'CREDENTIAL_UNUSABLE',
    message: `CREDENTIAL_UNUSABLE: ${token} ${expected}; put the right content there or remove it`,
  });
});

it('rejects a directory in place of the grant', async () => {
  await mkdir(grant);
  await expect(credentials.readGrant()).rejects.toMatchObject({ code: 'CREDENTIAL_UNUSABLE' });
});

it('names a file that this user cannot read', async () => {
  await writeFile(token, 's.abc', { mode: 0 });
  await chmod(dir, 0o755);
  await asNobody(() =>
    expect(credentials.readToken()).rejects.toMatchObject({
      message: `failed: cannot read ${token}: permission denied`,
    }),
  );
});

describe('removing the grant', () => {
  it('removes the file without a warning', async () => {
    await writeFile(grant, 'ey');
    expect(await credentials.removeGrant()).toBeNull();
    expect(await credentials.hasGrant()).toBe(false);
  });

  it('succeeds when it is absent', async () => {
    expect(await credentials.removeGrant()).toBeNull();
  });

  it('empties a file in a directory that belongs to another user', async () => {
    await writeFile(grant, 'ey', { mode: 0o600 });
    if (isRoot) await chown(grant, nobodyUid, nobodyUid);
    await chmod(dir, 0o755);
    await chmod(dirname(grant), 0o555);
    const warning = await asNobody(() => credentials.removeGrant());
    expect(warning).toBe(`failed: cannot remove ${grant}: permission denied; the grant was emptied instead`);
    expect(await readFile(grant, 'utf8')).toBe('');
  });

  it('says what to do when the file cannot be emptied either', async () => {
    await writeFile(grant, 'ey', { mode: 0o444 });
    await chmod(dir, 0o755);
    await chmod(dirname(grant), 0o555);
    expect(await asNobody(() => credentials.removeGrant())).toContain(
      'every tick will use the grant again: remove it by hand',
    );
  });
});

it('warns of files that other users may read', async () => {
  await writeFile(grant, 'ey');
  await chmod(grant, 0o640);
  await credentials.writeToken('s.abc');
  expect(await credentials.warnings()).toEqual([
    `${grant} may be used by others than its owner (mode 0640); chmod 600 it`,
  ]);
});
