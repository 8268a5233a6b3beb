import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Random bytes of a token; 43 characters in base64url. */
const TOKEN_BYTES = 32;

/** A new token of an operator; it is shown once and not kept. */
export function newOperatorToken(): string {
  return `dpo_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

/** Hex sha256 of a token, by which it is found; null for a text that is no token of an operator. */
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

/** Bytes of a secret; the scheme allows 24 to 64. */
const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

/** A new secret of a webhook in the form of Standard Webhooks; it is shown once. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** What is signed of a webhook: the id of the message, seconds since 1970, and the body as it is sent. */
interface SignedMessage {
  id: string;
  timestamp: number;
  body: string;
}

/** The headers by which a receiver verifies a message (Standard Webhooks 1.0.0), signed by each of some secrets. */
export function webhookHeaders(
  { id, timestamp, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
