import { outcomeOf } from '../../../machines/outcomes.ts';
import type { Terminal } from '../adapters/host/terminal.ts';
import { readHistory } from '../adapters/state/historyFile.ts';
import type { Settings } from '../config/settings.ts';
import { formatHistory } from '../rules/history/formatHistory.ts';
import type { Output } from './status.ts';

/** Options of `deployd history`. */
export interface HistoryOptions {
  /** How many entries at most, the newest. */
  limit: number;
  json: boolean;
}

/** `deployd history`: exit 0, also when nothing is kept. Uses no network or lock and writes nothing. */
export async function history(
  { state_dir }: Pick<Settings, 'state_dir'>,
  { limit, json }: HistoryOptions,
  { terminal, out }: { terminal: Terminal; out: Output },
): Promise<number> {
  try {
    const entries = (await readHistory(state_dir)).slice(0, limit);
    const none = 'nothing that matters has happened on this host yet';
    if (json) out.log(JSON.stringify(entries, null, 2));
    else await terminal.show(formatHistory(entries, terminal.paint) || none);
    return 0;
  } catch (error) {
    for (const line of outcomeOf(error, false).lines) out.error(line);
    return 1;
  }
}
