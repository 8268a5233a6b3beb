import type { Sha } from '../../machines/words.ts';
import { fieldsOf, type Fields } from './jsonFields.ts';

/** What the tenancy service answers to a check-in (spec §10). */
export interface Answer {
  action: 'apply' | 'none' | 'down';
  env: string;
  backendId: string;
  production: boolean;
  /** Never null for `apply`. */
  desiredSha: Sha | null;
  /** Size of the bundle that `apply` wants, else 0. */
  sizeBytes: number;
  purgeVolumes: boolean;
}

/** Reads the answer of a check-in; unknown fields are ignored, a wrong one is PROTOCOL_INVALID by its name. */
export function parseAnswer(json: unknown): Answer {
  const fields = fieldsOf(json, 'check-in');
  const action = actionOf(fields);
  const desiredSha = desiredShaOf(fields, action);
  return {
    action,
    env: fields.text('env'),
    backendId: fields.text('backend_id'),
    production: fields.flag('production'),
    desiredSha,
    sizeBytes: action === 'apply' ? sizeOf(fields.object('bundle'), desiredSha) : 0,
    purgeVolumes: fields.has('purge_volumes') && fields.flag('purge_volumes'),
  };
}

function actionOf(fields: Fields): Answer['action'] {
  const action = fields.text('action');
  if (action === 'apply' || action === 'none' || action === 'down') return action;
  throw fields.wrong('action', 'is none of apply, none, down');
}

function desiredShaOf(fields: Fields, action: Answer['action']): Sha | null {
  const sha = action === 'apply' ? fields.text('desired_sha') : fields.textOrNull('desired_sha');
  if (sha === null || /^[0-9a-f]{64}$/.test(sha)) return sha;
  throw fields.wrong('desired_sha', 'is not a lower-case sha256');
}

function sizeOf(bundle: Fields, desiredSha: Sha | null): number {
  if (bundle.text('sha256') !== desiredSha) throw bundle.wrong('sha256', 'differs from desired_sha');
  return bundle.count('size_bytes');
}
