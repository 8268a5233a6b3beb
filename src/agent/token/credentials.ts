import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { failedFault, Fault } from '../../../machines/fault.ts';
import { diskFault, isENOENT } from '../../core/errors.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import { removeDurably, writeDurably } from '../state/durableFiles.ts';
import { readText, stat } from '../state/fileSystem.ts';

/** The two credentials on disk: the secretstore token, and the bootstrap grant until its first use (spec §4, §11). */
export interface Credentials {
  /** The token, null when absent. Throws `CREDENTIAL_UNUSABLE`. */
  readToken: () => Promise<string | null>;
  /** Writes the token durably with mode 0600. Throws `DISK_WRITE_FAILED`. */
  writeToken: (token: string) => Promise<void>;
  hasToken: () => Promise<boolean>;
  /** The grant, null when absent. Throws `CREDENTIAL_UNUSABLE`. */
  readGrant: () => Promise<string | null>;
  /** Whether the grant file has content, usable or not. */
  hasGrant: () => Promise<boolean>;
  /** Removes the used grant, or empties its file; returns a warning when the file or its content remains. */
  removeGrant: () => Promise<string | null>;
  /** One warning for each file that other users may read. */
  warnings: () => Promise<string[]>;
}

/** The credentials at the paths of the settings; reads nothing yet. */
export function openCredentials(settings: Pick<Settings, 'state_dir' | 'bootstrap_file'>): Credentials {
  const token = join(settings.state_dir, 'store.token');
  const grant = settings.bootstrap_file;
  return {
    readToken: () => readCredential(token),
    writeToken: (value) => writeDurably(token, `${value}\n`, 0o600),
    hasToken: async () => (await readCredential(token)) !== null,
    readGrant: () => readCredential(grant),
    hasGrant: () => hasContent(grant),
    removeGrant: () => removeGrant(grant),
    warnings: async () => (await Promise.all([warningOf(token), warningOf(grant)])).filter((line) => line !== null),
  };
}

const maxCredentialBytes = 16 * 1024;

/** An empty file counts as absent. Error messages never contain any of the content. */
async function readCredential(path: string): Promise<string | null> {
  const stats = await statOf(path);
  if (stats === null) return null;
  if (!stats.isFile()) throw unusableCredential(path, 'is not a regular file');
  if (stats.size > maxCredentialBytes) throw unusableCredential(path, 'holds more than 16 KiB');
  const value = (await readContent(path)).trim();
  if (/[^\x21-\x7e]/.test(value)) throw unusableCredential(path, 'holds more than one word of plain characters');
  return value === '' ? null : value;
}

async function hasContent(path: string): Promise<boolean> {
  try {
    return (await readCredential(path)) !== null;
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

async function readContent(path: string): Promise<string> {
  return readText(path).catch((error: unknown) => {
    throw diskFault('read', path, error);
  });
}

function unusableCredential(path: string, problem: string): Fault {
  return failedFault('CREDENTIAL_UNUSABLE', `${path} ${problem}; put the right content there or remove it`);
}

/** When the agent owns the file but not its directory, it empties the grant instead. */
async function removeGrant(path: string): Promise<string | null> {
  try {
    await removeDurably(path);
    return null;
  } catch (error) {
    const reason = error instanceof Fault ? error.message : 'failed';
    const emptied = await truncate(path).then(
      () => true,
      () => false,
    );
    return emptied
      ? `${reason}; the grant was emptied instead`
      : `${reason}; every tick will use the grant again: remove it by hand`;
  }
}

async function warningOf(path: string): Promise<string | null> {
  const stats = await stat(path).catch(() => null);
  const mode = (stats?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0
    ? null
    : `${path} may be used by others than its owner (mode 0${mode.toString(8)}); chmod 600 it`;
}
