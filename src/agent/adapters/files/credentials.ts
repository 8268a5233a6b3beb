import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { failure, Fault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { readText, stat } from './atOnce.ts';
import { diskFault, isENOENT, removeDurably, writeDurably } from './files.ts';

/** The two credentials on the disk: the secretstore token, and the bootstrap grant until its first use (spec §4, §11). */
export interface Credentials {
  /** The token, null without one. Throws `CREDENTIAL_UNUSABLE`. */
  readToken: () => Promise<string | null>;
  /** Keeps the token durably with mode 0600. Throws `DISK_WRITE_FAILED`. */
  writeToken: (token: string) => Promise<void>;
  hasToken: () => Promise<boolean>;
  /** The grant, null without one. Throws `CREDENTIAL_UNUSABLE`. */
  readGrant: () => Promise<string | null>;
  /** Whether something lies in the grant's place, be it usable or not. */
  hasGrant: () => Promise<boolean>;
  /** Removes the used grant, or empties it; a warning when it had to stay or only lost its content. */
  removeGrant: () => Promise<string | null>;
  /** One warning for each file that others than its owner may read. */
  warnings: () => Promise<string[]>;
}

/** The credentials at the places that the settings name; nothing is read yet. */
export function openCredentials(settings: Pick<Settings, 'state_dir' | 'bootstrap_file'>): Credentials {
  const token = join(settings.state_dir, 'store.token');
  const grant = settings.bootstrap_file;
  return {
    readToken: () => read(token),
    writeToken: (value) => writeDurably(token, `${value}\n`, 0o600),
    hasToken: async () => (await read(token)) !== null,
    readGrant: () => read(grant),
    hasGrant: () => liesThere(grant),
    removeGrant: () => removeGrant(grant),
    warnings: async () => (await Promise.all([warningOf(token), warningOf(grant)])).filter((line) => line !== null),
  };
}

const longest_bytes = 16 * 1024;

/** An empty file counts as none. Nothing of the content ever gets into a message. */
async function read(path: string): Promise<string | null> {
  const found = await statOf(path);
  if (found === null) return null;
  if (!found.isFile()) throw unusable(path, 'is not a regular file');
  if (found.size > longest_bytes) throw unusable(path, 'holds more than 16 KiB');
  const value = (await textOf(path)).trim();
  if (/[^\x21-\x7e]/.test(value)) throw unusable(path, 'holds more than one word of plain characters');
  return value === '' ? null : value;
}

async function liesThere(path: string): Promise<boolean> {
  try {
    return (await read(path)) !== null;
  } catch (error) {
    if (error instanceof Fault && error.code === 'CREDENTIAL_UNUSABLE') return true;
    throw error;
  }
}

async function statOf(path: string) {
  return stat(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
}

async function textOf(path: string): Promise<string> {
  return readText(path).catch((error: unknown) => {
    throw diskFault('read', path, error);
  });
}

function unusable(path: string, what: string): Fault {
  return failure('CREDENTIAL_UNUSABLE', `${path} ${what}; put the right content there or remove it`);
}

/** The agent may own the file but not its directory; emptied, the grant is as good as gone. */
async function removeGrant(path: string): Promise<string | null> {
  try {
    await removeDurably(path);
    return null;
  } catch (error) {
    const why = error instanceof Fault ? error.message : 'failed';
    const emptied = await truncate(path).then(
      () => true,
      () => false,
    );
    return emptied
      ? `${why}; the grant was emptied instead`
      : `${why}; every tick will use the grant again: remove it by hand`;
  }
}

async function warningOf(path: string): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  const mode = (found?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0
    ? null
    : `${path} may be used by others than its owner (mode 0${mode.toString(8)}); chmod 600 it`;
}
