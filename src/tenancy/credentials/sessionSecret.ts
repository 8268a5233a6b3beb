import { createHash, randomBytes } from 'node:crypto';

/** A new value of a session's cookie: 32 random bytes in base64url. */
export function newSessionSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hex sha256 of such a value, by which its session is found; null for a text that is none. */
export function digestOfSession(secret: string): string | null {
  return /^[\w-]{43}$/.test(secret) ? createHash('sha256').update(secret).digest('hex') : null;
}
