import { join } from 'node:path';
import type { Sha } from '../../../../machines/words.ts';
import { parseGranted, type Granted } from '../../rules/created/granted.ts';
import { parseInventory, type Inventory } from '../../rules/bundle/inventory.ts';
import { parseRecord, type ReleaseRecord } from '../../rules/release/record.ts';
import { diskFault, removeDurably, writeAllDurably, writeDurably, writeLazily } from './files.ts';
import { dropLastGood, keepLastGood, restoreLastGood } from './lastGood.ts';
import { statsIfThere, textIfThere } from './ifThere.ts';

/** What a release has besides the files of its bundle. */
export interface Rendered {
  env: string;
  override: string;
  /** Null where compose's model was not judged. */
  granted: Granted | null;
  record: ReleaseRecord;
}

/** Name of the generated compose file in a release. */
export const OVERRIDE_FILE = '.deployd.override.yaml';

const ENV_FILE = '.env';
const RECORD_FILE = '.deployd.json';
const GRANTED_FILE = '.deployd.granted.json';
const INVENTORY_FILE = '.deployd.files.json';

/** The agent's own files in each release, all of them 0600. Their writers throw `DISK_WRITE_FAILED`. */
export abstract class OwnFiles {
  /** Directory of a release. */
  abstract pathOf(sha: Sha): string;

  /** Writes the agent's own files into a release, the record last: with it the release is whole. */
  async complete(sha: Sha, { env, override, granted, record }: Rendered): Promise<void> {
    const judged = granted && { [GRANTED_FILE]: textOf(granted) };
    const own = { [ENV_FILE]: env, [OVERRIDE_FILE]: override, ...judged, [RECORD_FILE]: textOf(record) };
    await writeAllDurably(this.pathOf(sha), own, 0o600);
  }

  /**
   * True when a release has its record and its `.env`, of the size that it was given, so that it can be brought up again.
   * Throws where they may be there all the same.
   */
  async isWhole(sha: Sha): Promise<boolean> {
    const found = await statsIfThere(this.#envOf(sha));
    if (found?.isDirectory()) throw diskFault('read', this.#envOf(sha), { code: 'EISDIR' });
    const record = found?.isFile() ? await this.readRecord(sha) : null;
    return record !== null && (record.env === undefined || record.env.bytes === found?.size);
  }

  async hasEnv(sha: Sha): Promise<boolean> {
    return (await statsIfThere(this.#envOf(sha))) !== null;
  }

  async readEnv(sha: Sha): Promise<string | null> {
    return textIfThere(this.#envOf(sha));
  }

  /** Takes a release's secrets away, those of its last good `.env` too. */
  async stripEnv(sha: Sha): Promise<void> {
    await this.dropLastGood(sha);
    await removeDurably(this.#envOf(sha));
  }

  async readOverride(sha: Sha): Promise<string | null> {
    return textIfThere(this.#overrideOf(sha));
  }

  async writeOverride(sha: Sha, override: string): Promise<void> {
    await writeDurably(this.#overrideOf(sha), override, 0o600);
  }

  /** What a release remembers about itself, null when it was never rendered or the record is damaged. */
  async readRecord(sha: Sha): Promise<ReleaseRecord | null> {
    const record = parseRecord((await textIfThere(this.#recordOf(sha))) ?? '');
    return record?.sha === sha ? record : null;
  }

  async writeRecord(sha: Sha, record: ReleaseRecord): Promise<void> {
    await writeDurably(this.#recordOf(sha), textOf(record), 0o600);
  }

  /** What the judged model of a release gives its services, null where that was never written or is damaged. */
  async readGranted(sha: Sha): Promise<Granted | null> {
    return parseGranted((await textIfThere(this.#grantedOf(sha))) ?? '');
  }

  async writeGranted(sha: Sha, granted: Granted): Promise<void> {
    await writeDurably(this.#grantedOf(sha), textOf(granted), 0o600);
  }

  /** What a release knows of its own files; null when it was made by an older agent, or the list is damaged. */
  async readInventory(sha: Sha): Promise<Inventory | null> {
    return parseInventory((await textIfThere(this.#inventoryOf(sha))) ?? '', sha);
  }

  async writeInventory(sha: Sha, inventory: Inventory): Promise<void> {
    await writeDurably(this.#inventoryOf(sha), textOf(inventory), 0o600);
  }

  /** Keeps the agent's own files as they last served, until they are restored or dropped. */
  async keepLastGood(sha: Sha): Promise<void> {
    await keepLastGood(this.pathOf(sha), { needed: [ENV_FILE, OVERRIDE_FILE, RECORD_FILE], more: [GRANTED_FILE] });
  }

  /** Gives a release back its own files that last served, where they were kept. */
  async restoreLastGood(sha: Sha): Promise<void> {
    await restoreLastGood(this.pathOf(sha));
  }

  async dropLastGood(sha: Sha): Promise<void> {
    await dropLastGood(this.pathOf(sha));
  }

  /** Milliseconds since the epoch; the record's time, since stripping `.env` touches the directory's. */
  protected async renderedAt(sha: Sha): Promise<number> {
    const found = (await statsIfThere(this.#recordOf(sha))) ?? (await statsIfThere(this.pathOf(sha)));
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

/** Puts the inventory beside what was unpacked in staging, where nothing has to last yet. Throws `DISK_WRITE_FAILED`. */
export async function writeUnpacked(staging: string, inventory: Inventory): Promise<void> {
  await writeLazily(join(staging, INVENTORY_FILE), textOf(inventory), 0o600);
}

function textOf(content: ReleaseRecord | Granted | Inventory): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}
