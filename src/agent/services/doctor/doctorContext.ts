import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import { ownerOf } from '../../../core/accounts.ts';
import { isENOENT } from '../../../core/errors.rules.ts';
import { readState } from '../../adapters/state/stateFile.ts';
import type { Settings } from '../../config/settings.ts';
import type { Finding, ProgramUser } from '../../../core/doctor.rules.ts';
import type { CheckContext } from '../../rules/doctor/checkContext.ts';
import type { AgentScope } from '../../rules/status/agentCommands.ts';
import type { Vault } from '../../secrets/vault.ts';

/** Input of the checks: the configuration, which may be invalid in part. */
export interface DoctorInput {
  configPath: string;
  scope: AgentScope;
  /** One line for each error of the configuration. */
  problems: string[];
  /** Its valid settings, and the defaults. */
  settings: Partial<Settings> & DefaultedSettings;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/** Settings with a default, which replaces an invalid value. */
type DefaultedSettings = Omit<Settings, 'env' | 'site' | 'transport' | 'tenancy_url' | 'secretstore_url'>;

/** Context of all checks. */
export interface DoctorContext extends DoctorInput {
  host: CheckContext;
  /** The fault of state.json; null when it is valid or missing. */
  stateFinding: Finding | null;
  /** Why the state directory cannot be read; null when it can. */
  inaccessible: string | null;
}

/** Reads the state directory; its owner is the agent's user. */
export async function doctorContextOf(input: DoctorInput): Promise<DoctorContext> {
  const { state_dir } = input.settings;
  const user = input.scope === 'user' ? await ownerOf(dirname(input.configPath)) : null;
  const agent = (await ownerOf(state_dir)) ?? user ?? packagedAgent;
  const inaccessible = (await isAccessible(state_dir)) ? null : `${state_dir} is for ${agent.name} alone: use sudo`;
  const host = { now: new Date(), agent };
  if (inaccessible !== null)
    return { ...input, inaccessible, stateFinding: null, host: { ...host, state: { unknown: inaccessible } } };
  const state = await readState(state_dir).catch(findingOf);
  if (state === null || 'schema' in state)
    return { ...input, inaccessible, stateFinding: null, host: { ...host, state: { known: state } } };
  const stateFinding =
    'problem' in state ? state : { problem: `STATE_CORRUPT: ${state.fault}`, fix: 'sudo deployd run --once' };
  return { ...input, inaccessible, stateFinding, host: { ...host, state: { unknown: stateFinding.problem } } };
}

/** The user that the package creates; used only in the text of fixes. */
const packagedAgent: ProgramUser = { name: 'deployd', uid: -1, gids: [] };

function findingOf(error: unknown): Finding {
  if (!(error instanceof Fault)) throw error;
  return { problem: error.message, fix: 'sudo dmesg --level=err,warn | tail' };
}

async function isAccessible(dir: string): Promise<boolean> {
  return access(dir, constants.R_OK | constants.X_OK).then(() => true, isENOENT);
}
