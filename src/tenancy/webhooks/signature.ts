import { createHmac, randomBytes } from 'node:crypto';

/** Bytes of a secret; the scheme allows 24 to 64. */
const SECRET_BYTES = 32;

const PREFIX = 'whsec_';

/** A new secret of a webhook in the form of Standard Webhooks; it is shown once. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** The signed data of a webhook: the id of the message, seconds since 1970, and the exact body. */
interface SignedMessage {
  id: string;
  timestamp: number;
  body: string;
}

/** The headers with which a receiver verifies a message (Standard Webhooks 1.0.0), with a signature for each secret. */
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
