import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { algorithm, type KeyRing } from './keyRing.ts';
import { backendPrefix, serviceRole } from './secretstoreRoles.rules.ts';

/** What a grant or a lease says of a backend. */
export interface GrantSubject {
  id: string;
  env: string;
  generation: number;
}

/** For whom a JWT is, and for how long. */
interface GrantTerms {
  /** Base URL of this service. */
  issuer: string;
  /** Audience that the role of the secretstore binds. */
  audience: string;
  lifetimeS: number;
  /** Milliseconds since 1970. */
  now: number;
}

/** A signed JWT with its expiry, in RFC 3339. */
export interface Grant {
  jwt: string;
  expiresAt: string;
}

/** Signs a JWT by which a backend logs in to the secretstore: a bootstrap grant or a lease. */
export async function signGrant(
  keys: KeyRing,
  { id, env, generation }: GrantSubject,
  terms: GrantTerms,
): Promise<Grant> {
  // the mount maps strings only into the metadata of a token
  const claims = { env, gen: String(generation) };
  return sign(keys, { claims, subject: `${backendPrefix}${id}` }, terms);
}

/** Signs a JWT by which this service logs in to the secretstore. */
export async function signServiceLogin(keys: KeyRing, terms: GrantTerms): Promise<Grant> {
  return sign(keys, { claims: {}, subject: serviceRole.subject }, terms);
}

async function sign(
  keys: KeyRing,
  { claims, subject }: { claims: JWTPayload; subject: string },
  { issuer, audience, lifetimeS, now }: GrantTerms,
): Promise<Grant> {
  const { kid, key } = keys.signer(now);
  const issuedS = Math.floor(now / 1000);
  const jwt = await new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setJti(randomUUID())
    .setIssuedAt(issuedS)
    .setExpirationTime(issuedS + lifetimeS)
    .sign(key);
  return { jwt, expiresAt: new Date((issuedS + lifetimeS) * 1000).toISOString() };
}

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
