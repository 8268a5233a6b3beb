import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { createPublicCopy, needsRoot, type PublicCopy, testIf } from '../../fixtures/world/users.ts';

/** Identity of the child process and of its files after it dropped privileges. */
interface Seen {
  uid: number;
  gid: number;
  groups: number[];
  umask: number;
}

const nobody = { uid: 65534, gid: 65534 };
let publicCopy: PublicCopy;
let top: string;
let state: string;

/** Starts whole processes, possibly on a busy machine. */

beforeAll(() => void (publicCopy = createPublicCopy()));
afterAll(() => publicCopy.remove());
beforeEach(() => {
  top = tempDir();
  chmodSync(top, 0o755);
  state = join(top, 'state');
  mkdirSync(state, 0o700);
});

const program = `const { dropPrivileges } = await import(process.argv[2]);
try {
  dropPrivileges(process.argv[1]);
  const seen = { uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), umask: process.umask() };
  console.log(JSON.stringify(seen));
} catch (error) {
  console.log(error.name + ': ' + error.message);
}`;

function dropPrivileges(dir: string, as: { uid?: number; gid?: number } = {}): string {
  const owner = join(publicCopy.dir, 'src', 'core', 'process.ts');
  const args = ['--input-type=module', '-e', program, dir, owner];
  const { stdout, stderr } = spawnSync(publicCopy.node, args, { cwd: publicCopy.dir, ...as });
  expect(String(stderr)).toBe('');
  return String(stdout).trim();
}

/** A user with supplementary groups, so that their transfer can be tested. */
function groupsOf(name: string, primary: number): number[] {
  const lines = readFileSync('/etc/group', 'utf8').split('\n');
  const fields = lines.map((line) => line.split(':'));
  const extra = fields.filter(([, , , members]) => members?.split(',').includes(name)).map(([, , gid]) => Number(gid));
  return [...new Set([primary, ...extra])].sort((a, b) => a - b);
}

describe('started as root', () => {
  testIf(needsRoot, 'switches to the owner of the state directory, and keeps no group of root', () => {
    chownSync(state, nobody.uid, 0);
    const result = JSON.parse(dropPrivileges(state)) as Seen;
    expect(result).toEqual({ uid: 65534, gid: 65534, groups: groupsOf('nobody', 65534), umask: 0o077 });
  });

  testIf(needsRoot, 'takes over the supplementary groups of the owner', () => {
    const [name, , uid, gid] = userWithGroups();
    chownSync(state, Number(uid), Number(gid));
    const result = JSON.parse(dropPrivileges(state)) as Seen;
    expect(result.uid).toBe(Number(uid));
    expect(result.groups.sort((a, b) => a - b)).toEqual(groupsOf(name ?? '', Number(gid)));
  });

  testIf(needsRoot, 'switches to an owner that /etc/passwd does not list', () => {
    chownSync(state, 54321, 54322);
    expect(JSON.parse(dropPrivileges(state))).toEqual({ uid: 54321, gid: 54322, groups: [54322], umask: 0o077 });
  });

  testIf(needsRoot, 'stays root where root is the owner', () => {
    expect(JSON.parse(dropPrivileges(state))).toMatchObject({ uid: 0, umask: 0o077 });
  });

  testIf(needsRoot, 'refuses another user who is not the owner, and says what to do', () => {
    const output = dropPrivileges(state, nobody);
    expect(output).toBe(
      `NotAllowed: deployd runs as root (owner of ${state}), not as nobody: use sudo, or become that user`,
    );
  });

  testIf(needsRoot, 'accepts the owner', () => {
    chownSync(state, nobody.uid, nobody.gid);
    expect(JSON.parse(dropPrivileges(state, nobody))).toMatchObject({ uid: 65534, umask: 0o077 });
  });
});

describe('without a usable state directory', () => {
  it('names the command that creates it', () => {
    expect(dropPrivileges(join(top, 'absent'))).toBe(
      `NotAllowed: the state directory ${top}/absent does not exist; ` +
        `to make it: sudo install -d -m 0700 -o deployd -g deployd ${top}/absent`,
    );
  });

  it('rejects a file in its place', () => {
    writeFileSync(join(top, 'file'), '');
    expect(dropPrivileges(join(top, 'file'))).toContain('is not a directory; move it away, then: sudo install -d');
  });
});

/** The /etc/passwd fields of a user that is a member of some group; nobody otherwise. */
function userWithGroups(): string[] {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const ordinaryUsers = users.filter(([, , uid]) => Number(uid) > 0);
  return (
    ordinaryUsers.find(([name, , , gid]) => groupsOf(name ?? '', Number(gid)).length > 1) ?? [
      'nobody',
      '',
      '65534',
      '65534',
    ]
  );
}
