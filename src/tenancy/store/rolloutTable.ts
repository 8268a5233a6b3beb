import type { Selectable } from 'kysely';
import type { BackendState } from '../../../machines/backend.ts';
import type { HaltReason, RolloutState } from '../../../machines/rollout.ts';
import type { TimeWindow } from '../../protocol/timeWindow.ts';
import type { Json, Labels } from './columns.ts';

/**
 * How far a host is with the bundle of a rollout: it has yet to apply it, runs it and is healthy, refused it or failed, or
 * had failed when an operator resumed the rollout all the same.
 */
export type HostOutcome = 'waiting' | 'succeeded' | 'failed' | 'excused';

/** Which hosts a wave takes of those that no wave before it has taken; all of them without a number. */
export interface Wave {
  count?: number;
  /** Of the active hosts with its labels, whether or not a wave has taken them, rounded up. */
  percent?: number;
  /** Hosts without one of these are left out. */
  labels?: Labels;
}

/** How a rollout goes on. */
export interface RolloutPlan {
  waves: Wave[];
  /** More hosts than this that have failed halt it. */
  max_failures: number;
  /** Seconds from the success of a wave until the next step. */
  soak_s: number;
  /** What lets a rollout go on after the soak of a wave: nothing is needed, an operator, or the answer of a webhook. */
  gate: 'none' | 'manual' | 'webhook';
  /** Id of the webhook that is asked; missing unless that is the gate. */
  gate_webhook?: string | undefined;
  /** Without any, waves start at any time. */
  windows: TimeWindow[];
}

/** Numbers of hosts of a wave; those that retire are not counted any more. */
export interface WaveProgress {
  hosts: number;
  waiting: number;
  succeeded: number;
  failed: number;
  excused: number;
  /** Silent before they were through with the bundle: servers, and laptops, for which that is normal. */
  offline: number;
  asleep: number;
}

/** Where a rollout is. */
export interface RolloutProgress {
  /** Waves that have started. */
  waves: WaveProgress[];
  /** Hosts that no wave has taken, offline ones too. */
  remaining: number;
  /** The first hosts that have failed, by id; missing where none has. */
  failed_hosts?: HostName[];
}

/** A host by its id, and by its name for people. */
export interface HostName {
  id: string;
  site: string;
}

/** What a wave may take: a host, or the managers of a swarm, which it takes together. */
export interface Candidate {
  ids: string[];
  /** Of each of them. */
  labels: Labels[];
  /** A wave has taken it before. */
  hasJoined: boolean;
}

/** Backends of an env that are alike, as far as a rollout is concerned. */
export interface HostGroup {
  /** Which wave of the rollout has taken them, from 0; null for none. */
  wave: number | null;
  outcome: HostOutcome | null;
  state: BackendState;
  /** 1 after a silence for which a server counts as offline. */
  silent: number;
  laptop: number;
  hosts: number;
}

export interface RolloutTable {
  id: string;
  env: string;
  /** Digest of its bundle. */
  sha256: string;
  /** Digest of the bundle that was desired before; null for none. */
  previous_sha: string | null;
  state: RolloutState;
  state_since: number;
  /** Number of waves that have started. */
  started: number;
  halted_by: HaltReason | null;
  plan: Json<RolloutPlan>;
  /** As it was when it was last looked at. */
  progress: Json<RolloutProgress>;
  /** When the webhook of the gate is asked next; null unless the rollout waits for its answer. */
  gate_due_at: number | null;
  /** How often it was asked at this gate. */
  gate_tries: number;
  /** What it has answered last, or why it could not be asked. */
  gate_reason: string | null;
  created_at: number;
  /** Name of the operator who has started it. */
  created_by: string;
}

export type RolloutRow = Selectable<RolloutTable>;
