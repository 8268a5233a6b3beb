import { jest } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Commons, openCommons, rootUser, testWith } from '../../../../fixtures/users.ts';

/** What the child is and what it makes, after it became the owner. */
interface Seen {
  uid: number;
  gid: number;
  groups: number[];
  umask: number;
}

const nobody = { uid: 65534, gid: 65534 };
let commons: Commons;
let top: string;
let state: string;

/** Whole processes on a busy machine. */
jest.setTimeout(60_000);

beforeAll(() => void (commons = openCommons()));
afterAll(() => commons.remove());
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'owner-'));
  chmodSync(top, 0o755);
  state = join(top, 'state');
  mkdirSync(state, 0o700);
});
afterEach(() => rmSync(top, { recursive: true }));

const program = `const { becomeOwner } = await import(process.argv[2]);
try {
  becomeOwner(process.argv[1]);
  const seen = { uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), umask: process.umask() };
  console.log(JSON.stringify(seen));
} catch (error) {
  console.log(error.name + ': ' + error.message);
}`;

function becomeOwner(dir: string, as: { uid?: number; gid?: number } = {}): string {
  const owner = join(commons.dir, 'src', 'agent', 'adapters', 'host', 'owner.ts');
  const args = ['--input-type=module', '-e', program, dir, owner];
  const { stdout, stderr } = spawnSync(commons.node, args, { cwd: commons.dir, ...as });
  expect(String(stderr)).toBe('');
  return String(stdout).trim();
}

/** A user with the most groups, so that they can be seen to come along. */
function groupsOf(name: string, primary: number): number[] {
  const lines = readFileSync('/etc/group', 'utf8').split('\n');
  const fields = lines.map((line) => line.split(':'));
  const extra = fields.filter(([, , , members]) => members?.split(',').includes(name)).map(([, , gid]) => Number(gid));
  return [...new Set([primary, ...extra])].sort((a, b) => a - b);
}

describe('started as root', () => {
  testWith(rootUser, 'becomes the owner of the state directory, and keeps no group of root', () => {
    chownSync(state, nobody.uid, 0);
    const seen = JSON.parse(becomeOwner(state)) as Seen;
    expect(seen).toEqual({ uid: 65534, gid: 65534, groups: groupsOf('nobody', 65534), umask: 0o077 });
  });

  testWith(rootUser, 'takes the supplementary groups of the owner along', () => {
    const [name, , uid, gid] = memberOfSomething();
    chownSync(state, Number(uid), Number(gid));
    const seen = JSON.parse(becomeOwner(state)) as Seen;
    expect(seen.uid).toBe(Number(uid));
    expect(seen.groups.sort((a, b) => a - b)).toEqual(groupsOf(name ?? '', Number(gid)));
  });

  testWith(rootUser, 'becomes an owner who is in no user list', () => {
    chownSync(state, 54321, 54322);
    expect(JSON.parse(becomeOwner(state))).toEqual({ uid: 54321, gid: 54322, groups: [54322], umask: 0o077 });
  });

  testWith(rootUser, 'stays root where root is the owner', () => {
    expect(JSON.parse(becomeOwner(state))).toMatchObject({ uid: 0, umask: 0o077 });
  });

  testWith(rootUser, 'refuses another user who is not the owner, and says what to do', () => {
    const said = becomeOwner(state, nobody);
    expect(said).toBe(
      `NotAllowed: deployd runs as root (owner of ${state}), not as nobody: use sudo, or become that user`,
    );
  });

  testWith(rootUser, 'lets the owner himself work', () => {
    chownSync(state, nobody.uid, nobody.gid);
    expect(JSON.parse(becomeOwner(state, nobody))).toMatchObject({ uid: 65534, umask: 0o077 });
  });
});

describe('without a usable state directory', () => {
  it('names the command that makes it', () => {
    expect(becomeOwner(join(top, 'absent'))).toBe(
      `NotAllowed: the state directory ${top}/absent does not exist; ` +
        `to make it: sudo install -d -m 0700 -o deployd -g deployd ${top}/absent`,
    );
  });

  it('does not take a file for it', () => {
    writeFileSync(join(top, 'file'), '');
    expect(becomeOwner(join(top, 'file'))).toContain('is not a directory; move it away, then: sudo install -d');
  });
});

/** The fields of a user in /etc/passwd that is a member of some group; falls back to nobody. */
function memberOfSomething(): string[] {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const ordinary = users.filter(([, , uid]) => Number(uid) > 0);
  return (
    ordinary.find(([name, , , gid]) => groupsOf(name ?? '', Number(gid)).length > 1) ?? ['nobody', '', '65534', '65534']
  );
}
