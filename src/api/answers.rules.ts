import type { Static } from 'typebox';
import { failedFault, Fault, refusedFault } from '../../machines/fault.ts';
import type { Sha } from '../../machines/types.ts';
import type { LeaseRequest as LeaseRequestSchema } from './agentSchemas.ts';
import * as validators from './answerValidators.ts';

/** The answer of the tenancy service to a check-in (spec §10). */
export interface CheckInResponse {
  action: 'apply' | 'none' | 'down';
  env: string;
  backendId: string;
  production: boolean;
  /** Not null for `apply`. */
  desiredSha: Sha | null;
  /** Size in bytes of the bundle to apply; 0 for the other actions. */
  sizeBytes: number;
  /** The bundle to apply is announced as an emergency, which only its manifest decides. */
  emergency: boolean;
  purgeVolumes: boolean;
}

/** Parses the response to a check-in. Unknown fields are ignored; throws PROTOCOL_INVALID with the name of an invalid field. */
export function parseCheckInResponse(json: unknown): CheckInResponse {
  const { action, env, backend_id, production, desired_sha, purge_volumes } = readAnswer(
    validators.orders,
    json,
    'check-in',
  );
  const purgeVolumes = purge_volumes ?? false;
  const orders = { action, env, backendId: backend_id, production, desiredSha: desired_sha, purgeVolumes };
  if (action !== 'apply') return { ...orders, sizeBytes: 0, emergency: false };
  const { bundle } = readAnswer(validators.applyOrders, json, 'check-in');
  if (bundle.sha256 !== desired_sha) throw invalidField('check-in', 'bundle.sha256', 'differs from desired_sha');
  return { ...orders, sizeBytes: bundle.size_bytes, emergency: bundle.emergency ?? false };
}

/** The body of a lease request (spec §11). */
export type LeaseRequest = Static<typeof LeaseRequestSchema>;

/** The right to log in to the secretstore once; the JWT is a secret. */
export interface Lease {
  role: string;
  jwt: string;
  /** RFC 3339. */
  expiresAt: string;
}

/** Parses the response to a lease request. LEASE_SHAPE when any part of it has the AppRole shape (spec §11). */
export function parseLeaseResponse(json: unknown): { lease: Lease } | { fault: Fault } {
  const marker = findAppRoleMarker(json);
  if (marker !== null) {
    return {
      fault: refusedFault([
        { code: 'LEASE_SHAPE', detail: `the lease has the AppRole shape (${marker}); JWT is required` },
      ]),
    };
  }
  try {
    const { role, jwt, expires_at: expiresAt } = readAnswer(validators.lease, json, 'lease').lease;
    return { lease: { role, jwt, expiresAt } };
  } catch (error) {
    if (error instanceof Fault) return { fault: error };
    throw error;
  }
}

/** Describes the first sign of an AppRole lease, at any depth, without any of the values; null if there is none. */
function findAppRoleMarker(json: unknown): string | null {
  const pending: unknown[] = [json];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      const marker = appRoleMarkerOf(normalizedName(key), inner);
      if (marker !== null) return marker;
      pending.push(inner);
    }
  }
  return null;
}

function appRoleMarkerOf(name: string, value: unknown): string | null {
  if (appRoleKeys.has(name)) return `field ${name}`;
  if (name.startsWith('unwrap')) return 'field unwrap';
  if (typeof value !== 'string') return null;
  if (authMethodKeys.has(name) && normalizedName(value) === 'approle') return `${name} approle`;
  return /auth\/approle(\/|$)/i.test(value) ? 'a path under auth/approle' : null;
}

/** Makes names equal that differ only in case, `_` and `-`. */
function normalizedName(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, '');
}

const appRoleKeys = new Set([
  'roleid',
  'secretid',
  'secretidaccessor',
  'wrappedsecretid',
  'wrapinfo',
  'wrappingtoken',
  'wraptoken',
]);

const authMethodKeys = new Set(['method', 'authmethod', 'type', 'kind', 'mount']);

/** A validator that a schema was compiled to, with the first fault that it has found. */
interface AnswerValidator<Answer> {
  (json: unknown): json is Answer;
  errors?: AnswerError[] | null;
}

interface AnswerError {
  keyword: string;
  /** `/bundle/size_bytes`. */
  instancePath: string;
  params: Record<string, unknown>;
  /** The schema of the field, if the validator was compiled with `verbose`. */
  parentSchema?: object;
}

/** The answer to a call, if it is as its schema describes; throws PROTOCOL_INVALID with the name of the first invalid field. */
export function readAnswer<Answer>(validate: AnswerValidator<Answer>, json: unknown, call: string): Answer {
  if (validate(json)) return json;
  const [error] = validate.errors ?? [];
  validate.errors = null; // it holds values of the answer
  const name = (error?.instancePath ?? '').slice(1).replaceAll('/', '.');
  const missing = error?.keyword === 'required' ? String(error.params['missingProperty']) : null;
  if (missing !== null) throw invalidField(call, name === '' ? missing : `${name}.${missing}`, 'is missing');
  if (name === '' || error === undefined) throw protocolInvalid(call, 'the answer is not a JSON object');
  throw invalidField(call, name, problemOf(error));
}

/** The fault of a field. */
export function invalidField(call: string, name: string, problem: string): Error {
  return protocolInvalid(call, `field ${name} ${problem}`);
}

function protocolInvalid(call: string, detail: string): Error {
  return failedFault('PROTOCOL_INVALID', `${call}: ${detail}`);
}

/** The error text of a field: by its type, or the schema's description if only the type is right. */
function problemOf({ keyword, parentSchema = {} }: AnswerError): string {
  const { type = '', nullable = false, description } = parentSchema as FieldSchema;
  const isOfType = !['type', 'minLength', 'minimum', 'maximum'].includes(keyword);
  if (isOfType && description !== undefined) return description;
  return nullable && type === 'string' ? 'is neither a string nor null' : (typeProblems[type] ?? 'is invalid');
}

interface FieldSchema {
  type?: string;
  nullable?: boolean;
  description?: string;
}

const typeProblems: Readonly<Record<string, string>> = {
  string: 'is empty or not a string',
  boolean: 'is not a boolean',
  integer: 'is not a whole number of 0 or more',
  object: 'is not an object',
};
