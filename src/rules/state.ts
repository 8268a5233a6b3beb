import { Ajv } from 'ajv';
import type { Orders, Sha } from '../../machines/words.ts';
import type { Failing } from './pause.ts';
import type { Report } from './report.ts';
import { unknownStanding, type TokenStanding } from './tokenLife.ts';

/** `state.json` (spec §17): what the agent knows across ticks. Times are RFC 3339 in UTC. */
export interface State {
  schema: 1;
  env: string;
  applied_sha: Sha | null;
  applied_at: string | null;
  applied_version: string | null;
  /** Highest `sequence` ever applied for this env; outlives a `down`. */
  highest_sequence: number;
  /** Whether the tenancy service or a manifest called this host production when last heard. */
  production: boolean;
  last_check_in: { at: string; action: Orders['action']; desired_sha: Sha | null } | null;
  last_outcome: { at: string; outcome: string; code: string | null; detail: string | null } | null;
  /** An apply that began and has not ended; while it stands, `current` is not trusted. */
  attempt: { sha: Sha; phase: string; at: string } | null;
  failing: Failing | null;
  token: TokenStanding;
  /** Reports that could not be delivered, oldest first. */
  pending_reports: Report[];
}

/** Why a text is no state, in words for the journal. */
export interface StateFault {
  fault: string;
}

/** The state of a host on which nothing has ever happened. */
export function emptyState(env: string): State {
  return {
    schema: 1,
    env,
    applied_sha: null,
    applied_at: null,
    applied_version: null,
    highest_sequence: 0,
    production: false,
    last_check_in: null,
    last_outcome: null,
    attempt: null,
    failing: null,
    token: unknownStanding(),
    pending_reports: [],
  };
}

/** The state in a text, or what is wrong with it; the text itself is never repeated. */
export function parseState(text: string): State | StateFault {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return { fault: 'state.json is no JSON object' };
  const schema: unknown = Reflect.get(value, 'schema');
  if (schema !== 1)
    return {
      fault: `state.json is of schema ${typeof schema === 'number' ? schema : 'unknown'}, this version reads 1`,
    };
  if (validate(value)) return value;
  const [error] = validate.errors ?? [];
  return { fault: `state.json is wrong at ${error?.instancePath.slice(1) || 'its top'}: ${error?.message ?? ''}` };
}

/** Whether a parsed state is none. */
export function isFault(parsed: State | StateFault): parsed is StateFault {
  return 'fault' in parsed;
}

const text = { type: 'string' };
const nullableText = { type: 'string', nullable: true };
const time = { type: 'string', format: 'time' };
const sha = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

const stateSchema = record({
  schema: { const: 1 },
  env: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
  applied_sha: { ...sha, nullable: true },
  applied_at: { ...time, nullable: true },
  applied_version: nullableText,
  highest_sequence: count,
  production: { type: 'boolean' },
  last_check_in: {
    ...record({ at: time, action: { enum: ['apply', 'none', 'down'] }, desired_sha: { ...sha, nullable: true } }),
    nullable: true,
  },
  last_outcome: { ...record({ at: time, outcome: text, code: nullableText, detail: nullableText }), nullable: true },
  attempt: { ...record({ sha, phase: text, at: time }), nullable: true },
  failing: { ...record({ sha, count, retry_at: time, line: text }), nullable: true },
  token: record({
    expires_at: { ...time, nullable: true },
    renewable: { type: 'boolean' },
    creation_ttl_s: { type: 'number', nullable: true },
    trouble: nullableText,
  }),
  pending_reports: { type: 'array', items: record({ report_id: text }) },
});

const validate = new Ajv({ formats: { time: isTime } }).compile<State>(stateSchema);

/** Every property is required, others are let through: a file of a newer version is not thrown away for what it adds. */
function record(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}
