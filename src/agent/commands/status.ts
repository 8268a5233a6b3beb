import { bootTimeNow } from '../../core/clock.ts';
import type { Fact } from '../../core/doctor.rules.ts';
import { openCredentials } from '../adapters/state/credentials.ts';
import { readLock } from '../adapters/state/lockRecord.ts';
import { readState } from '../adapters/state/stateFile.ts';
import type { Settings } from '../config/settings.ts';
import { emptyState, isInvalidState, type State } from '../rules/state/state.ts';
import { type SeenServices, statusOf } from '../rules/status/status.ts';
import { formatStatus } from '../rules/status/formatStatus.ts';
import type { Vault } from '../secrets/vault.ts';
import { lookAtHost } from '../services/health/lookAtHost.ts';
import { readDeferringFacts } from './deferringFacts.ts';

/** Options of `deployd status`. */
export interface StatusOptions {
  json: boolean;
  version: string;
  vault: Vault;
  /** Milliseconds that the look at the containers may take. */
  lookMs: number;
}

/** Output of a command: results to `log`, warnings to `error`; `console` is one. */
export interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}

/**
 * `deployd status`: exit 0 when the token is present and the host in sync, else 1. It looks at the containers; it uses no network
 * or lock and writes nothing.
 */
export async function status(settings: Settings, options: StatusOptions, out: Output): Promise<number> {
  const credentials = openCredentials(settings);
  const { state, stateError } = await usableState(settings);
  const now = new Date();
  const result = statusOf(settings, state, {
    deferring: await readDeferringFacts(settings).catch((error: unknown) => warn(out, error, {})),
    version: options.version,
    token: await credentials.hasToken().catch((error: unknown) => warn(out, error, false)),
    lock: await readLock(settings.state_dir).catch((error: unknown) => warn(out, error, null)),
    seen: await look(settings, { state, stateError }, options),
    ...{ now, bootTime: bootTimeNow() },
  });
  const context = { state, stateError, now };
  if (options.json && stateError !== null) out.error(stateError);
  for (const line of await credentials.warnings()) out.error(line);
  out.log(options.json ? JSON.stringify(result, null, 2) : formatStatus(result, context));
  return result.in_sync ? 0 : 1;
}

/** What runs now; nobody can judge that without the state. */
async function look(
  settings: Settings,
  { state, stateError }: UsableState,
  { vault, lookMs }: StatusOptions,
): Promise<Fact<SeenServices>> {
  return stateError === null ? lookAtHost({ settings, state, vault, timeoutMs: lookMs }) : { unknown: stateError };
}

interface UsableState {
  state: State;
  stateError: string | null;
}

/** The state, or an empty one, which is never in sync, with the reason why it cannot be used. */
async function usableState({ state_dir, env }: Settings): Promise<UsableState> {
  const emptyBecause = (stateError: string | null) => ({ state: emptyState(env), stateError });
  const found = await readState(state_dir).catch(messageOf);
  if (typeof found === 'string') return emptyBecause(found);
  if (found === null) return emptyBecause(null);
  if (isInvalidState(found)) return emptyBecause(`STATE_CORRUPT: ${found.fault}; the next tick rebuilds it`);
  return found.env === env ? { state: found, stateError: null } : emptyBecause(null);
}

function warn<T>(out: Output, error: unknown, fallback: T): T {
  out.error(messageOf(error));
  return fallback;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'a file cannot be read';
}
