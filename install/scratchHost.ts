import { spawn, execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { findPeer } from '../fixtures/world/engine/engine.ts';
import { stubProgram, stubPrograms } from './stubPrograms.ts';
import { writeWithMode } from './writeWithMode.ts';

const call = promisify(execFile);

/** How an installer ended. */
export interface CommandResult {
  /** The exit code, or the signal that ended it. */
  code: number | string | null;
  stdout: string;
  stderr: string;
}

/** An installer that runs. */
export interface Running {
  child: ChildProcess;
  ended: Promise<CommandResult>;
}

/** How one is started. */
export interface RunOptions {
  /** `dash` (the default), `busybox sh` …, with options if needed. */
  shell?: string[];
  /** The script comes on standard input, as by `curl … | sh -s --`. */
  piped?: boolean;
  stdin?: string;
  /** A directory on a separate disk with 64 KiB. */
  smallDisk?: string;
  /** The architecture that dpkg reports; this machine's by default. */
  architecture?: string;
  env?: Record<string, string>;
}

/** A host to install on: a root directory with this machine's programs, and its own everything else. */
export interface ScratchHost {
  root: string;
  path: (file: string) => string;
  read: (file: string) => Promise<string>;
  write: (file: string, content: string, mode?: number) => Promise<void>;
  /** `mode owner:group` of a file, as numbers. */
  rights: (file: string) => Promise<string>;
  /** Files below a directory. */
  list: (directory: string) => Promise<string[]>;
  start: (args: string[], options?: RunOptions) => Running;
  install: (args: string[], options?: RunOptions) => Promise<CommandResult>;
  /** The calls of the programs that scripts replace, in order. */
  calls: () => Promise<string[]>;
  /** All that an installer could change: a line for each file with its rights, its links and its content's digest. */
  snapshot: () => Promise<string[]>;
  /**
   * The next call of this program waits, or of one subcommand (`deployd.bootstrap`); resolves when it is there, with a
   * function that lets it continue.
   */
  hold: (stage: string) => Promise<{ reached: Promise<unknown>; go: () => Promise<void> }>;
  /** Ends what a test that failed has left running, too. */
  remove: () => Promise<void>;
}

/** Numbers of the users that a scratch host has. */
export const users = { root: 0, deployd: 990, mesh: 991, ziti: 992 };

const script = join(import.meta.dirname, 'install.sh');

/** One of the shells that the installer is run by; a machine need not have it. */
const busybox = findPeer('busybox', (line) => process.stderr.write(`${line}\n`));

/** Makes a host without deployd; the programs that a real one would need systemd or a mesh for are played by scripts. */
export async function createScratchHost(): Promise<ScratchHost> {
  const root = await mkdtemp(join(tmpdir(), 'deployd-install-'));
  await populateRoot(root);
  const path = (file: string) => join(root, file);
  const running = new Set<Running>();
  const start = (args: string[], options: RunOptions = {}) => {
    const started = run(root, args, options);
    running.add(started);
    return started;
  };
  return {
    root,
    path,
    read: (file) => readFile(path(file), 'utf8'),
    write: (file, content, mode) => writeWithMode(path(file), content, mode),
    rights: async (file) => {
      const { mode, uid, gid } = await lstat(path(file));
      return `${(mode & 0o7777).toString(8).padStart(4, '0')} ${nameOf(uid)}:${nameOf(gid)}`;
    },
    list: (directory) => readdir(path(directory)),
    start,
    install: (args, options) => start(args, options).ended,
    calls: async () => (await readFile(path('var/log/calls'), 'utf8')).split('\n').filter(Boolean),
    snapshot: () => snapshotOf(root),
    hold: async (stage) => {
      const [at, go] = [path(`hold/${stage}.at`), path(`hold/${stage}.go`)];
      await call('mkfifo', [at, go]);
      return { reached: readFile(at), go: () => writeFile(go, '') };
    },
    remove: async () => {
      running.forEach(({ child }) => child.kill('SIGKILL'));
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function populateRoot(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const link of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${link}`, join(root, link));
  for (const directory of [...mountedDirectories, ...ownDirectories])
    await mkdir(join(root, directory), { recursive: true });
  await symlink('/usr/bin/mawk', join(root, 'etc/alternatives/awk'));
  for (const [file, content] of Object.entries(initialFiles)) await writeWithMode(join(root, file), content);
  for (const [name, body] of Object.entries(stubPrograms))
    await writeWithMode(join(root, 'played', name), stubProgram(body), 0o755);
  await writeWithMode(join(root, 'played/dpkg.foreign'), foreignDpkg, 0o755);
  await writeWithMode(join(root, 'played/dpkg.own'), '');
  await copyFile(await busybox, join(root, 'played/busybox'));
  await writeWithMode(join(root, 'install.sh'), await readFile(script, 'utf8'));
}

/** Directories of this machine that the host has too, and cannot write to. */
const mountedDirectories = ['usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'proc', 'dev'];
/** dpkg of a host of ARCHITECTURE, which installs what is packaged for it. */
const foreignDpkg = `#!/bin/sh
[ "$1" != --print-architecture ] || exec echo "$ARCHITECTURE"
exec /played/dpkg.own --force-architecture "$@"
`;
const foreignMounts = [
  ['usr/bin/dpkg', 'played/dpkg.own'],
  ['played/dpkg.foreign', 'usr/bin/dpkg'],
];

const ownDirectories = [
  'etc/alternatives',
  'run/systemd/system',
  'tmp',
  'opt',
  'var/cache',
  'var/log',
  'var/lib/dpkg/info',
  'var/lib/dpkg/updates',
  'hold',
  'played',
];

const initialFiles: Record<string, string> = {
  'etc/passwd': Object.entries(users)
    .map(([name, id]) => `${name}:x:${id}:${id}::/:/bin/sh\n`)
    .join(''),
  'etc/group': Object.entries(users)
    .map(([name, id]) => `${name}:x:${id}:\n`)
    .join(''),
  'etc/os-release': 'ID=debian\n',
  'etc/hosts': '127.0.0.1 localhost\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  'var/lib/dpkg/status': '',
  'var/lib/dpkg/available': '',
  'var/log/calls': '',
};

/** Except for the record of calls and the lock, which is a file to lock and no more. */
async function snapshotOf(root: string): Promise<string[]> {
  const { stdout } = await call(
    'find',
    ['.', '-type', 'f', '-printf', '%P %m %u:%g %T@ ', '-exec', 'sha256sum', '{}', ';'],
    {
      cwd: root,
      maxBuffer: 2 ** 24,
    },
  );
  const lines = stdout
    .split('\n')
    .filter((line) => line && !/^(var\/log\/calls|run\/deployd-install\.lock|hold\/|played\/)/.test(line));
  return lines.sort();
}

function nameOf(id: number): string {
  return Object.entries(users).find(([, each]) => each === id)?.[0] ?? String(id);
}

/** The shell of the installer has the process id of the child: every step before it is an exec. */
function run(root: string, args: string[], options: RunOptions): Running {
  const { shell = ['dash'], piped = false, stdin = '', env = {}, smallDisk, architecture } = options;
  const mounts = mountedDirectories.map((each) => {
    const option = each === 'proc' || each === 'dev' ? '--rbind' : '--bind';
    return `mount ${option} /${each} ${root}/${each}`;
  });
  const readOnly = mountedDirectories.slice(0, 4).map((each) => `mount -o remount,bind,ro ${root}/${each}`);
  const disks = smallDisk === undefined ? [] : [`mount -t tmpfs -o size=64k none ${root}${smallDisk}`];
  const dpkgs =
    architecture === undefined ? [] : foreignMounts.map(([from, to]) => `mount --bind ${root}/${from} ${root}/${to}`);
  const enter = `${[...mounts, ...readOnly, ...disks, ...dpkgs].join(' && ')} && exec chroot ${root} "$@"`;
  const command = piped ? [...shell, '-s', '--', ...args] : [...shell, '/install.sh', ...args];
  const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', enter, 'sh', ...command], {
    env: {
      PATH: '/played:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      ...(architecture !== undefined && { ARCHITECTURE: architecture }),
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: '/',
  });
  child.stdin.on('error', () => undefined);
  if (piped) void readFile(script).then((content) => child.stdin.end(content));
  else child.stdin.end(stdin);
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr]) => ({
      code: child.exitCode ?? child.signalCode,
      stdout,
      stderr,
    }),
  );
  return { child, ended };
}
