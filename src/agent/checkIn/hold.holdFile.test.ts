import { chmod, chown, lutimes, mkdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { asNobody, needsRoot, nobodyUid, testIf } from '../../../fixtures/world/users.ts';
import { formatHold, maxHoldMs, standingHold } from './hold.rules.ts';
import { countHoldFromNow, readHold, removeHold, writeHold } from './hold.ts';

const hold = { until: '2100-01-01T00:00:00.000Z', reason: null };
let dir: string;
let path: string;
beforeEach(() => {
  dir = tempDir();
  path = join(dir, 'hold.json');
});

it('does not exist before the hold is set, is private, and is removed when the hold ends', async () => {
  expect(await readHold(dir)).toBeNull();
  await writeHold(dir, { ...hold, reason: 'first' });
  await writeHold(dir, hold);
  expect((await readHold(dir))?.text).toBe(formatHold(hold));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await removeHold(dir);
  await removeHold(dir);
  expect(await readHold(dir)).toBeNull();
});

it('ends within seven days if it was set ten years in the future', async () => {
  await writeHold(dir, hold);
  const future = new Date(Date.now() + 315_360_000_000);
  await utimes(path, future, future);
  await countHoldFromNow(dir, new Date());
  expect(standingHold(await readHold(dir), new Date())).not.toBeNull();
  expect(standingHold(await readHold(dir), new Date(Date.now() + maxHoldMs))).toBeNull();
});

it('ends even if it is a link from the future', async () => {
  await writeFile(join(dir, 'target'), formatHold(hold));
  await symlink(join(dir, 'target'), path);
  const future = new Date(Date.now() + 315_360_000_000);
  await lutimes(path, future, future);
  await countHoldFromNow(dir, new Date());
  expect(standingHold(await readHold(dir), new Date(Date.now() + maxHoldMs))).toBeNull();
});

testIf(needsRoot, 'ends though it is from the future, and root’s', async () => {
  await writeFile(path, formatHold(hold));
  await chmod(path, 0o644);
  const future = new Date(Date.now() + 315_360_000_000);
  await utimes(path, future, future);
  await chown(dir, nobodyUid, nobodyUid);
  await asNobody(() => countHoldFromNow(dir, new Date()));
  expect(await readHold(dir)).toMatchObject({ text: formatHold(hold) });
  expect((await stat(path)).mtimeMs).toBeLessThanOrEqual(Date.now());
});

it('keeps the time of an existing hold, and does not need one', async () => {
  await countHoldFromNow(dir, new Date());
  await writeHold(dir, hold);
  const past = new Date('2026-01-01T00:00:00.000Z');
  await utimes(path, past, past);
  await countHoldFromNow(dir, new Date());
  expect((await stat(path)).mtime).toEqual(past);
});

it('does not treat an unreadable file as no hold', async () => {
  await mkdir(path);
  await expect(readHold(dir)).rejects.toThrow(/hold\.json/);
});
