import { type Stats, statSync, writeFileSync } from 'node:fs';
import { type Account, accountOf } from './accounts.ts';
import { isENOENT } from './errors.rules.ts';
import { readRegularFile } from './files.ts';

/** The command may not use this state directory as this user; the message says what to do. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
}

/**
 * Started as root, switches to the owner of `stateDir` with all the owner's groups, so that root leaves no files there;
 * stays root when root is the owner. Sets umask 077. Throws NotAllowed for any other user, and when the directory is
 * absent. `program` is also the name of the user that the package makes for it; `make` is the command that makes the directory.
 */
export function dropPrivileges(stateDir: string, { program = 'deployd', make = makeFor(program) } = {}): void {
  process.umask(0o077);
  const { uid, gid } = statStateDir(stateDir, make);
  const self = process.getuid?.();
  if (self === uid) return;
  const owner = knownAccount(uid);
  if (self === 0) {
    switchUser(owner ?? { uid, gid, name: null });
    return;
  }
  const selfName = knownAccount(self ?? -1)?.name ?? `uid ${self ?? 'unknown'}`;
  const ownerName = owner?.name ?? `uid ${uid}`;
  throw new NotAllowed(
    `${program} runs as ${ownerName} (owner of ${stateDir}), not as ${selfName}: use sudo, or become that user`,
  );
}

/** The account that owns the state directory of `program`. Throws NotAllowed when the directory is absent. */
export function ownerOfStateDir(stateDir: string, program: string): Account {
  const { uid, gid } = statStateDir(stateDir, makeFor(program));
  return knownAccount(uid) ?? { uid, gid, name: null };
}

/** Acts with the rights of an account, then as root again. Only root may call it. */
export async function actAs<T>({ name, uid, gid }: Account, act: () => T | Promise<T>): Promise<T> {
  const groups = process.getgroups?.() ?? [];
  if (name === null) process.setgroups?.([gid]);
  else (process as unknown as WithInitgroups).initgroups(name, gid);
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}

/** Missing in Node's type declarations. */
interface WithInitgroups {
  initgroups(name: string, gid: number): void;
}

function makeFor(program: string): string {
  return `sudo install -d -m 0700 -o ${program} -g ${program}`;
}

function statStateDir(stateDir: string, make: string): Stats {
  let found: Stats;
  try {
    found = statSync(stateDir);
  } catch (error) {
    const reason = isENOENT(error) ? 'does not exist' : 'cannot be reached by this user';
    throw new NotAllowed(`the state directory ${stateDir} ${reason}; to make it: ${make} ${stateDir}`);
  }
  if (!found.isDirectory())
    throw new NotAllowed(`${stateDir} is not a directory; move it away, then: ${make} ${stateDir}`);
  return found;
}

/** Throws NotAllowed when /etc/passwd cannot be read: without it the owner's groups are unknown. */
function knownAccount(uid: number): Account | null {
  try {
    return accountOf(uid);
  } catch (error) {
    throw new NotAllowed(`${error instanceof Error ? error.message : String(error)}; deployd has to know its user`);
  }
}

function switchUser({ name, uid, gid }: Account): void {
  if (name === null) process.setgroups?.([gid]);
  else (process as unknown as WithInitgroups).initgroups(name, gid);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/**
 * Closes the ways by which the runtime exposes this process's memory. Call before any secret is read.
 *
 * - A core dump contains no memory, of this process or of programs it starts (Linux).
 * - No diagnostic report is written; SIGUSR2 does nothing.
 * - The inspector is closed; SIGUSR1 does not open it.
 */
export function hardenProcess(): void {
  emptyCoreDumps();
  Object.assign(process.report, { reportOnSignal: false, reportOnFatalError: false, reportOnUncaughtException: false });
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.removeAllListeners(signal).on(signal, ignore);
  if (mayBeInspected()) process.getBuiltinModule('node:inspector').close();
}

/**
 * False when the process was started as the package does, with no signal or option that opens the inspector. Then the
 * inspector module need not be loaded, which is slow.
 */
function mayBeInspected(): boolean {
  const { env, execArgv } = process;
  const isDisabled =
    execArgv.includes('--disable-sigusr1') && !execArgv.some((option) => option.startsWith('--inspect'));
  return !isDisabled || env['NODE_OPTIONS'] !== undefined;
}

/** Filters out all kinds of memory; without this file only the unit's limit protects. */
function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // another kernel, or another user's process
  }
}

function ignore(): void {
  // this signal has no use here
}

/**
 * Calls `stop` once at SIGTERM, SIGINT or SIGHUP; a second SIGTERM or SIGINT has its default effect. A closing terminal
 * sends SIGHUP twice, from the system and from its shell. A process started with SIGHUP ignored (`nohup`) keeps
 * ignoring it.
 */
export function onStopSignal(stop: () => void): void {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (!ignoresHangUp()) process.on('SIGHUP', stop);
}

function ignoresHangUp(): boolean {
  try {
    const status = readRegularFile('/proc/self/status').toString('latin1');
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false; // the kernel does not report it
  }
}

/** Aborts at SIGTERM or SIGINT, so that the command can clean up. */
export function abortedBySignal(): AbortSignal {
  const stop = new AbortController();
  onStopSignal(() => stop.abort());
  return stop.signal;
}
