import { openCredentials } from '../adapters/files/credentials.ts';
import { readLock } from '../adapters/files/lock.ts';
import { readState } from '../adapters/files/state.ts';
import type { Settings } from '../config/settings.ts';
import { emptyState, isFault, type State } from '../rules/state/state.ts';
import { statusOf } from '../rules/status/status.ts';
import { statusText } from '../rules/status/statusText.ts';

/** How the status is wanted, and the version to tell. */
export interface StatusOptions {
  json: boolean;
  version: string;
}

/** Where lines go: results and, beside them, warnings; `console` is one. */
export interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}

/** `deployd status`: exit 0 when the token is present and the host in sync, else 1. No network, no lock, no writing. */
export async function status(settings: Settings, options: StatusOptions, out: Output): Promise<number> {
  const credentials = openCredentials(settings);
  const { state, trouble } = await usableState(settings);
  const found = statusOf(settings, state, {
    version: options.version,
    token: await credentials.hasToken().catch((error: unknown) => warn(out, error, false)),
    lock: await readLock(settings.state_dir).catch((error: unknown) => warn(out, error, null)),
  });
  const context = { state, trouble, now: new Date() };
  if (options.json && trouble !== null) out.error(trouble);
  for (const line of await credentials.warnings()) out.error(line);
  out.log(options.json ? JSON.stringify(found, null, 2) : statusText(found, context));
  return found.in_sync ? 0 : 1;
}

/** A state that cannot be used counts as an empty one, which is never in sync. */
async function usableState({ state_dir, env }: Settings): Promise<{ state: State; trouble: string | null }> {
  const none = (trouble: string | null) => ({ state: emptyState(env), trouble });
  const found = await readState(state_dir).catch(messageOf);
  if (typeof found === 'string') return none(found);
  if (found === null) return none(null);
  if (isFault(found)) return none(`STATE_CORRUPT: ${found.fault}; the next tick rebuilds it`);
  return found.env === env ? { state: found, trouble: null } : none(null);
}

function warn<T>(out: Output, error: unknown, otherwise: T): T {
  out.error(messageOf(error));
  return otherwise;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'a file cannot be read';
}
