import type { Generated, Selectable } from 'kysely';
import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import type { CheckInRequest, Deferral } from '../../protocol/checkIn.ts';
import type { Json, Labels } from './columns.ts';
import type { HostOutcome } from './rolloutTable.ts';

/** Backends: hosts as the service knows them. */
export interface BackendTable {
  id: string;
  /** Counts its changes, so that two instances never change the same state of it. */
  revision: number;
  env: string;
  site: string;
  laptop: number;
  transport: 'sdk' | 'proxy' | 'system';
  created_at: number;
  state: BackendState;
  generation: number;
  /** Tokens of this generation and newer are accepted: a restored store does not know all generations that were given. */
  oldest_generation: number;
  purge_volumes: number;
  finished: Json<FinishingStep[]>;
  /** Since when it is in its state. */
  state_since: number;
  last_seen_at: number | null;
  /** The newest check-in; null before the first. */
  check_in: Json<CheckInRequest> | null;
  /** As the newest check-in says: null before the first. */
  healthy: number | null;
  /** As the newest check-in says, in printable ASCII; empty before the first. */
  agent_version: Generated<string>;
  /** What defers the work of its host, as the newest check-in says. */
  deferred_by: Generated<Deferral | null>;
  /** Digest of the bundle that its host runs, as the newest check-in says. */
  applied_sha: string | null;
  /** Accessor of the newest token that it came with, and the generation of that token; revoked by its retirement. */
  token_accessor: string | null;
  token_generation: number | null;
  /** Which identity of the mesh its newest install kit enrols; null without one. */
  mesh_identity: string | null;
  labels: Generated<Json<Labels>>;
  /** What it is searched and sorted by: its site, then the values of its labels, in lower case, one a line. */
  search: Generated<string>;
  /** The last rollout that it has joined, by which of its waves, from 0, and how far it is with its bundle. */
  rollout_id: Generated<string | null>;
  rollout_wave: Generated<number | null>;
  rollout_outcome: Generated<HostOutcome | null>;
  /** The swarm that its host manages, as it told last. With the other managers of its env it has one desired bundle. */
  swarm_id: Generated<string | null>;
  /** 1 where another manager stands for the swarm: the one that told last that it leads, else the one that came first. */
  follower: Generated<number>;
  /** Outcome and desired bundle of the trouble that its newest report told, of which operators were notified; null for none. */
  trouble: string | null;
}

/** What a list of backends can be sorted by, and then by id. */
export type SortColumn = 'id' | 'site' | 'state' | 'last_seen_at' | 'agent_version';

/** How a list of backends is sorted. */
export interface BackendOrder {
  column: SortColumn;
  isDescending: boolean;
}

/** The place of a backend in a sorted list: the value that it is sorted by, and its id. */
export interface BackendPlace {
  key: string | number;
  id: string;
}

/** Backends that are alike in all that the fleet is counted by. */
export type BackendGroup = Pick<
  Selectable<BackendTable>,
  'state' | 'env' | 'healthy' | 'trouble' | 'agent_version' | 'applied_sha' | 'rollout_id' | 'deferred_by'
> & { backends: number };
