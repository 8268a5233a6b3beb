import { createHash, randomBytes } from 'node:crypto';

/** Random bytes of a token; 43 characters in base64url. */
const TOKEN_BYTES = 32;

/** A new token of an operator; it is shown once and not kept. */
export function newOperatorToken(): string {
  return `dpo_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

/** Hex sha256 of a token, by which it is found; null for a text that is not a token of an operator. */
export function digestOfToken(token: string): string | null {
  return /^dpo_[\w-]{43}$/.test(token) ? createHash('sha256').update(token).digest('hex') : null;
}

/** A new value of a session's cookie: 32 random bytes in base64url. */
export function newSessionSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hex sha256 of such a value, by which its session is found; null for a text that is none. */
export function digestOfSession(secret: string): string | null {
  return /^[\w-]{43}$/.test(secret) ? createHash('sha256').update(secret).digest('hex') : null;
}
