import type { JWK } from 'jose';
import type { Selectable } from 'kysely';
import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import type { CheckInRequest } from '../../protocol/checkIn.ts';
import type { Report } from '../../protocol/report.ts';

/** The tables. Times are milliseconds since 1970; booleans are 0 or 1; `Json` columns are text. */
export interface Database {
  envs: EnvTable;
  backends: BackendTable;
  reports: ReportTable;
  signing_keys: SigningKeyTable;
}

/** Text of a JSON value of type T. */
export type Json<T> = string & { readonly json?: T };

export interface EnvTable {
  name: string;
  production: number;
  /** Digest of the desired bundle. */
  desired_sha: string | null;
  /** The highest sequence that was given to a bundle. */
  last_sequence: number;
}

export interface BackendTable {
  id: string;
  /** Counts its changes, so that two instances never change the same state of it. */
  revision: number;
  env: string;
  site: string;
  laptop: number;
  created_at: number;
  state: BackendState;
  generation: number;
  purge_volumes: number;
  finished: Json<FinishingStep[]>;
  /** Since when it is in its state. */
  state_since: number;
  last_seen_at: number | null;
  /** The newest check-in; null before the first. */
  check_in: Json<CheckInRequest> | null;
}

export interface ReportTable {
  report_id: string;
  backend_id: string;
  received_at: number;
  outcome: string;
  body: Json<Report>;
}

export interface SigningKeyTable {
  kid: string;
  /** From when on it signs; it is published before. */
  active_from: number;
  public_jwk: Json<JWK>;
  /** PKCS 8, encrypted by the key file. */
  sealed_key: string;
}

export type SigningKeyRow = Selectable<SigningKeyTable>;
export type EnvRow = Selectable<EnvTable>;
export type BackendRow = Selectable<BackendTable>;
