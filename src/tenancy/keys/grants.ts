import { randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { algorithm, type KeyRing } from './keyRing.ts';
import { backendPrefix, serviceRole } from './secretstoreRoles.rules.ts';

/** The backend that a grant or a lease describes. */
export interface GrantSubject {
  id: string;
  env: string;
  generation: number;
}

/** Audience and lifetime of a JWT. */
interface GrantTerms {
  /** Base URL of this service. */
  issuer: string;
  /** Audience that the secretstore's role requires. */
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

/** Signs a JWT with which a backend logs in to the secretstore: a bootstrap grant or a lease. */
export async function signGrant(
  keys: KeyRing,
  { id, env, generation }: GrantSubject,
  terms: GrantTerms,
): Promise<Grant> {
  // The mount copies only strings into the metadata of a token.
  const claims = { env, gen: String(generation) };
  return sign(keys, { claims, subject: `${backendPrefix}${id}` }, terms);
}

/** Signs a JWT with which this service logs in to the secretstore. */
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
