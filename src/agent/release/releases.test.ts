import { mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CurrentLink } from './releases.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)] as const;
let home: string;
let current: CurrentLink;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'current-'));
  current = new CurrentLink(home);
});
afterEach(() => rm(home, { recursive: true }));

describe('current', () => {
  it('does not exist at first', async () => {
    expect(await current.sha()).toBeNull();
  });

  it('points to the release that was last set', async () => {
    await current.set(a);
    await current.set(b);
    expect(await current.sha()).toBe(b);
    expect(await readlink(join(home, 'current'))).toBe(`releases/${b}`);
  });

  it('may be an absolute path', async () => {
    await symlink(join(home, 'releases', a), join(home, 'current'));
    expect(await current.sha()).toBe(a);
  });

  it('can be removed twice', async () => {
    await current.set(a);
    await current.remove();
    await current.remove();
    expect(await current.sha()).toBeNull();
  });

  it.each([`/srv/${a}`, `../eu-2/releases/${a}`, 'releases/x', a])(
    'is foreign when it points to %s',
    async (target) => {
      await symlink(target, join(home, 'current'));
      await expect(current.sha()).rejects.toMatchObject({ code: 'CURRENT_FOREIGN' });
    },
  );

  it('is foreign when it is a directory', async () => {
    await mkdir(join(home, 'current'));
    await expect(current.sha()).rejects.toMatchObject({
      message: `CURRENT_FOREIGN: ${join(home, 'current')} is not a link to one of the agent's releases; move it away`,
    });
  });
});
