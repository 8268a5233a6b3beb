import { join } from 'node:path';
import { parseHistory, withEntry, type HistoryEntry } from '../../rules/history/historyEntry.ts';
import { writeDurably } from '../files/durableFiles.ts';
import { readTextIfExists } from '../files/ifExists.ts';

/** What is kept of the past, newest first. Throws a fault of the disk. */
export async function readHistory(stateDir: string): Promise<HistoryEntry[]> {
  return parseHistory(await readText(stateDir));
}

/**
 * Adds an entry and drops the oldest beyond the bound. Nothing but the last of two that are added at the very same time may be kept.
 * Throws a fault of the disk.
 */
export async function addToHistory(stateDir: string, entry: HistoryEntry): Promise<void> {
  await writeDurably(pathIn(stateDir), withEntry(await readText(stateDir), entry), 0o600);
}

async function readText(stateDir: string): Promise<string> {
  return (await readTextIfExists(pathIn(stateDir))) ?? '';
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'history.jsonl');
}
