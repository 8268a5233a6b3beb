import { Fault, refusedFault } from '../../machines/fault.ts';
import { fieldsOf, type JsonFields } from '../core/json.rules.ts';

/** The body of a lease request (spec §11). */
export interface LeaseRequest {
  purpose: 'apply' | 'renew';
}

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
    return { lease: readLease(fieldsOf(json, 'lease').object('lease')) };
  } catch (error) {
    if (error instanceof Fault) return { fault: error };
    throw error;
  }
}

function readLease(fields: JsonFields): Lease {
  if (fields.string('method') !== 'jwt') throw fields.invalidField('method', 'is not jwt');
  if (fields.string('mount') !== 'jwt-tenancy') throw fields.invalidField('mount', 'is not jwt-tenancy');
  const jwt = fields.string('jwt');
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(jwt)) throw fields.invalidField('jwt', 'is not a JWT');
  const expiresAt = fields.string('expires_at');
  if (!isZonedTimestamp(expiresAt)) throw fields.invalidField('expires_at', 'is not a time');
  return { role: fields.string('role'), jwt, expiresAt };
}

/** True for an RFC 3339 time with a time zone. */
function isZonedTimestamp(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
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
