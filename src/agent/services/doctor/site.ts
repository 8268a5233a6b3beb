import { access, constants } from 'node:fs/promises';
import { Fault } from '../../../../machines/fault.ts';
import { agentOf } from '../../adapters/host/accounts.ts';
import { isENOENT } from '../../adapters/files/files.ts';
import { readState } from '../../adapters/files/state.ts';
import type { Settings } from '../../config/settings.ts';
import type { Agent, Finding, Host } from '../../rules/doctor/doctor.ts';
import type { Vault } from '../../secrets/vault.ts';

/** What is examined: a host with its configuration, which may be wrong in part. */
export interface Subject {
  configPath: string;
  /** One line for each flaw of the configuration. */
  flaws: string[];
  /** What stands in it without a flaw, and the defaults. */
  settings: Partial<Settings> & Defaulted;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/** Settings that a default stands for where what is written is wrong. */
type Defaulted = Omit<Settings, 'env' | 'site' | 'transport' | 'tenancy_url' | 'secretstore_url'>;

/** What all examinations share. */
export interface Site extends Subject {
  host: Host;
  /** What is wrong with the state file; null when it is one, or is not there. */
  broken: Finding | null;
  /** Why nothing in the state directory can be seen; null when it can. */
  hidden: string | null;
}

/** Looks at the state directory, whose owner is the agent. */
export async function siteOf(subject: Subject): Promise<Site> {
  const { state_dir } = subject.settings;
  const agent = (await agentOf(state_dir)) ?? usualAgent;
  const hidden = (await mayEnter(state_dir)) ? null : `${state_dir} is for ${agent.name} alone: use sudo`;
  const host = { now: new Date(), agent };
  if (hidden !== null) return { ...subject, hidden, broken: null, host: { ...host, state: { unknown: hidden } } };
  const state = await readState(state_dir).catch(unreadable);
  if (state === null || 'schema' in state)
    return { ...subject, hidden, broken: null, host: { ...host, state: { is: state } } };
  const broken = 'what' in state ? state : { what: `STATE_CORRUPT: ${state.fault}`, fix: 'sudo deployd run --once' };
  return { ...subject, hidden, broken, host: { ...host, state: { unknown: broken.what } } };
}

/** As the package makes it; it is told in cures only. */
const usualAgent: Agent = { name: 'deployd', uid: -1, gids: [] };

function unreadable(error: unknown): Finding {
  if (!(error instanceof Fault)) throw error;
  return { what: error.message, fix: 'sudo dmesg --level=err,warn | tail' };
}

async function mayEnter(dir: string): Promise<boolean> {
  return access(dir, constants.R_OK | constants.X_OK).then(() => true, isENOENT);
}
