import { Fault, refused } from '../../machines/fault.ts';
import { fieldsOf, type Fields } from './jsonFields.ts';

/** A right to log in to the secretstore once; the JWT is a secret. */
export interface Lease {
  role: string;
  jwt: string;
  /** RFC 3339. */
  expiresAt: string;
}

/** Judges the answer to a lease request: whatever else it is, nothing in it may have the AppRole shape (spec §11). */
export function judgeLease(json: unknown): { lease: Lease } | { fault: Fault } {
  const trace = appRoleTrace(json);
  if (trace !== null) {
    return {
      fault: refused([{ code: 'LEASE_SHAPE', detail: `the lease has the AppRole shape (${trace}); JWT is wanted` }]),
    };
  }
  try {
    return { lease: parseLease(fieldsOf(json, 'lease').object('lease')) };
  } catch (error) {
    if (error instanceof Fault) return { fault: error };
    throw error;
  }
}

function parseLease(fields: Fields): Lease {
  if (fields.text('method') !== 'jwt') throw fields.wrong('method', 'is not jwt');
  if (fields.text('mount') !== 'jwt-tenancy') throw fields.wrong('mount', 'is not jwt-tenancy');
  const jwt = fields.text('jwt');
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(jwt)) throw fields.wrong('jwt', 'is not a JWT');
  const expiresAt = fields.text('expires_at');
  if (!isTime(expiresAt)) throw fields.wrong('expires_at', 'is not a time');
  return { role: fields.text('role'), jwt, expiresAt };
}

/** RFC 3339, with its zone. */
function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** What betrays an AppRole lease, at any depth, in words that hold nothing of the values; null when nothing does. */
function appRoleTrace(json: unknown): string | null {
  const pending: unknown[] = [json];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      const trace = traceOf(bareName(key), inner);
      if (trace !== null) return trace;
      pending.push(inner);
    }
  }
  return null;
}

function traceOf(name: string, value: unknown): string | null {
  if (appRoleKeys.has(name)) return `field ${name}`;
  if (name.startsWith('unwrap')) return 'field unwrap';
  if (typeof value !== 'string') return null;
  if (kindKeys.has(name) && bareName(value) === 'approle') return `${name} approle`;
  return /auth\/approle(\/|$)/i.test(value) ? 'a path under auth/approle' : null;
}

/** Case, `_`, `-` and camel case make no difference. */
function bareName(text: string): string {
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

const kindKeys = new Set(['method', 'authmethod', 'type', 'kind', 'mount']);
