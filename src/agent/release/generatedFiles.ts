import { join } from 'node:path';
import type { Sha } from '../../../machines/types.ts';
import { type Inventory, parseInventory } from '../../bundle/archive/inventory.rules.ts';
import { diskFault } from '../../core/errors.rules.ts';
import { removeDurably, writeAllDurably, writeDurably, writeWithoutSync } from '../state/durableFiles.ts';
import { readTextIfExists, statIfExists } from '../state/fileSystem.ts';
import { type GrantedPrivileges, parseGrantedPrivileges } from './grantedPrivileges.rules.ts';
import { parseReleaseRecord, type ReleaseRecord } from './record.rules.ts';

/** The files that the agent generates for a release. */
interface RenderedFiles {
  env: string;
  override: string;
  /** Null when the rendered model was not validated. */
  granted: GrantedPrivileges | null;
  record: ReleaseRecord;
}

/** Name of the generated compose file in a release. */
export const OVERRIDE_FILE = '.deployd.override.yaml';

/** Name of the generated compose file that hides the hooks of services from compose. */
const HOOKS_FILE = '.deployd.hooks.yaml';

const ENV_FILE = '.env';
const RECORD_FILE = '.deployd.json';
const GRANTED_FILE = '.deployd.granted.json';
const INVENTORY_FILE = '.deployd.files.json';

/** The agent's generated files in each release, all 0600. Writers throw `DISK_WRITE_FAILED`. */
export abstract class GeneratedFiles {
  /** Directory of a release. */
  abstract pathOf(sha: Sha): string;

  /** Writes the generated files of a release, the record last: it marks the release as complete. */
  async writeRendered(sha: Sha, { env, override, granted, record }: RenderedFiles): Promise<void> {
    const privileges = granted && { [GRANTED_FILE]: formatJson(granted) };
    const files = { [ENV_FILE]: env, [OVERRIDE_FILE]: override, ...privileges, [RECORD_FILE]: formatJson(record) };
    await writeAllDurably(this.pathOf(sha), files, 0o600);
  }

  /**
   * True when a release can be started again: it has its record, and an `.env` of the recorded size. Throws when that
   * cannot be determined.
   */
  async isComplete(sha: Sha): Promise<boolean> {
    const found = await statIfExists(this.#envOf(sha));
    if (found?.isDirectory()) throw diskFault('read', this.#envOf(sha), { code: 'EISDIR' });
    const record = found?.isFile() ? await this.readRecord(sha) : null;
    return record !== null && (record.env === undefined || record.env.bytes === found?.size);
  }

  async hasEnv(sha: Sha): Promise<boolean> {
    return (await statIfExists(this.#envOf(sha))) !== null;
  }

  async readEnv(sha: Sha): Promise<string | null> {
    return readTextIfExists(this.#envOf(sha));
  }

  /** The previous `.env` of a release that is rendered again; null if it is not. */
  async readBackedUpEnv(sha: Sha): Promise<string | null> {
    return readBackedUp(this.pathOf(sha), ENV_FILE);
  }

  /** Removes a release's secrets: its `.env` and the backup, which contains one too. */
  async stripEnv(sha: Sha): Promise<void> {
    await this.dropBackup(sha);
    await removeDurably(this.#envOf(sha));
  }

  async readOverride(sha: Sha): Promise<string | null> {
    return readTextIfExists(this.#overrideOf(sha));
  }

  async writeOverride(sha: Sha, override: string): Promise<void> {
    await writeDurably(this.#overrideOf(sha), override, 0o600);
  }

  /**
   * Writes the compose file that hides hooks from compose, unless it is there, and returns its name; no name if nothing
   * has to be hidden. The agent runs them itself: compose would run some of them, depending on its version.
   */
  async hideHooks(sha: Sha, hooks: Readonly<Record<string, readonly string[]>>): Promise<string[]> {
    const services = Object.entries(hooks).map(([name, own]) => {
      return `${JSON.stringify(name)}: {${own.map((hook) => `${hook}: !reset null`).join(', ')}}`;
    });
    if (services.length === 0) return [];
    const file = join(this.pathOf(sha), HOOKS_FILE);
    const text = `services: {${services.join(', ')}}\n`;
    if ((await readTextIfExists(file)) !== text) await writeDurably(file, text, 0o600);
    return [HOOKS_FILE];
  }

  /** The record of a release, null when the release was never rendered or the record is damaged. */
  async readRecord(sha: Sha): Promise<ReleaseRecord | null> {
    const record = parseReleaseRecord((await readTextIfExists(this.#recordOf(sha))) ?? '');
    return record?.sha === sha ? record : null;
  }

  async writeRecord(sha: Sha, record: ReleaseRecord): Promise<void> {
    await writeDurably(this.#recordOf(sha), formatJson(record), 0o600);
  }

  /** The privileges that the validated model of a release grants; null when they were never written or are damaged. */
  async readGrantedPrivileges(sha: Sha): Promise<GrantedPrivileges | null> {
    return parseGrantedPrivileges((await readTextIfExists(this.#grantedOf(sha))) ?? '');
  }

  async writeGrantedPrivileges(sha: Sha, granted: GrantedPrivileges): Promise<void> {
    await writeDurably(this.#grantedOf(sha), formatJson(granted), 0o600);
  }

  /** The inventory of a release; null when an older agent made the release, or the inventory is damaged. */
  async readInventory(sha: Sha): Promise<Inventory | null> {
    return parseInventory((await readTextIfExists(this.#inventoryOf(sha))) ?? '', sha);
  }

  async writeInventory(sha: Sha, inventory: Inventory): Promise<void> {
    await writeDurably(this.#inventoryOf(sha), formatJson(inventory), 0o600);
  }

  /** Saves the generated files as a backup, until it is restored or dropped. */
  async saveBackup(sha: Sha): Promise<void> {
    await saveBackup(this.pathOf(sha), { required: [ENV_FILE, OVERRIDE_FILE, RECORD_FILE], optional: [GRANTED_FILE] });
  }

  /** Restores the generated files from the backup, if there is one. */
  async restoreBackup(sha: Sha): Promise<void> {
    await restoreBackup(this.pathOf(sha));
  }

  async dropBackup(sha: Sha): Promise<void> {
    await dropBackup(this.pathOf(sha));
  }

  /** Milliseconds since the epoch; the record's time, since stripping `.env` touches the directory's. */
  protected async renderedAtMs(sha: Sha): Promise<number> {
    const found = (await statIfExists(this.#recordOf(sha))) ?? (await statIfExists(this.pathOf(sha)));
    return found?.mtimeMs ?? 0;
  }

  #envOf(sha: Sha): string {
    return join(this.pathOf(sha), ENV_FILE);
  }

  #overrideOf(sha: Sha): string {
    return join(this.pathOf(sha), OVERRIDE_FILE);
  }

  #recordOf(sha: Sha): string {
    return join(this.pathOf(sha), RECORD_FILE);
  }

  #grantedOf(sha: Sha): string {
    return join(this.pathOf(sha), GRANTED_FILE);
  }

  #inventoryOf(sha: Sha): string {
    return join(this.pathOf(sha), INVENTORY_FILE);
  }
}

/** Writes the inventory into a staging directory, unsynced. Throws `DISK_WRITE_FAILED`. */
export async function writeStagedInventory(staging: string, inventory: Inventory): Promise<void> {
  await writeWithoutSync(join(staging, INVENTORY_FILE), formatJson(inventory), 0o600);
}

function formatJson(content: ReleaseRecord | GrantedPrivileges | Inventory): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Contains `.env`, so it is as secret and is removed with it. */
const BACKUP_FILE = '.deployd.last-good.json';

/**
 * Saves files of a release in one file (0600), so that a release that is rendered again can be reverted. An existing
 * backup stays, because no apply has succeeded since; an incomplete release is not saved. Throws `DISK_WRITE_FAILED`.
 */
async function saveBackup(dir: string, { required, optional }: BackedUpFiles): Promise<void> {
  if (await hasBackup(dir)) return;
  const read = async (name: string) => [name, await readTextIfExists(join(dir, name))] as const;
  const files = await Promise.all([...required, ...optional].map(read));
  const found = files.filter(([, text]) => text !== null);
  if (required.some((name) => !found.some(([each]) => each === name))) return;
  await writeDurably(join(dir, BACKUP_FILE), JSON.stringify(Object.fromEntries(found)), 0o600);
}

/** Files that a complete release must have, and files that it may have. */
interface BackedUpFiles {
  required: readonly string[];
  optional: readonly string[];
}

/** Restores and removes the backup; a damaged backup is only removed. Throws `DISK_WRITE_FAILED`. */
async function restoreBackup(dir: string): Promise<void> {
  if (!(await hasBackup(dir))) return;
  const files = parseBackup((await readTextIfExists(join(dir, BACKUP_FILE))) ?? '');
  if (files !== null) await writeAllDurably(dir, files, 0o600);
  await dropBackup(dir);
}

/** The text of a file in the backup; null without it, or when the backup is damaged. */
async function readBackedUp(dir: string, name: string): Promise<string | null> {
  const text = await readTextIfExists(join(dir, BACKUP_FILE));
  return (text !== null && parseBackup(text)?.[name]) || null;
}

/** Removes the backup. Throws `DISK_WRITE_FAILED`. */
async function dropBackup(dir: string): Promise<void> {
  if (await hasBackup(dir)) await removeDurably(join(dir, BACKUP_FILE));
}

async function hasBackup(dir: string): Promise<boolean> {
  return (await statIfExists(join(dir, BACKUP_FILE))) !== null;
}

/** The files by name; null when the backup is damaged. Does not rethrow the parser's error, which quotes the input. */
function parseBackup(text: string): Record<string, string> | null {
  try {
    return JSON.parse(text) as Record<string, string> | null;
  } catch {
    return null;
  }
}
