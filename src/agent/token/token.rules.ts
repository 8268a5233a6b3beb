import { parseErrorBody } from '../../core/http.rules.ts';
import { isObject } from '../../core/json.rules.ts';
import { formatSkew, maxSkewS } from '../../core/text.rules.ts';
import type { TokenStatus } from '../state/state.rules.ts';
import * as validators from './tokenValidators.ts';
import { readAnswer } from '../../api/answers.rules.ts';

/** Lifetime of a token, from a login or a renewal. */
export interface TokenLifetime {
  ttlS: number;
  renewable: boolean;
}

/** Status of a token that was just issued. */
export function issuedTokenStatus({ ttlS, renewable }: TokenLifetime, now: Date): TokenStatus {
  return { expires_at: secondsLater(now, ttlS), renewable, creation_ttl_s: ttlS, trouble: null };
}

/** Status after a renewal. */
export function renewedTokenStatus(before: TokenStatus, lifetime: TokenLifetime, now: Date): TokenStatus {
  const creation = Math.max(before.creation_ttl_s ?? 0, lifetime.ttlS);
  return { ...before, ...issuedTokenStatus(lifetime, now), creation_ttl_s: creation };
}

/** True when renewal no longer extends the token enough, so that a new lease is due (spec §11). */
export function needsNewLease(lifetime: TokenLifetime, creationTtlS: number | null, intervalS: number): boolean {
  return !lifetime.renewable || lifetime.ttlS < Math.max(2 * intervalS, (creationTtlS ?? 0) / 2);
}

/**
 * True when less than two intervals are left, so that the token may expire before the next ticks. Also true when more than
 * its whole lifetime seems to be left: the clock was set back, and the real remaining time is unknown.
 */
export function expiresSoon({ expires_at, creation_ttl_s }: TokenStatus, intervalS: number, now: Date): boolean {
  if (expires_at === null) return false;
  const leftS = (Date.parse(expires_at) - now.getTime()) / 1000;
  return leftS < 2 * intervalS || (creation_ttl_s !== null && leftS > creation_ttl_s);
}

function secondsLater(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}

/** The token of a login; it is a secret. */
export interface Login {
  token: string;
  ttlS: number;
  renewable: boolean;
}

/** One version of a secret; every value in `data` is secret. */
export interface SecretVersion {
  data: Record<string, unknown>;
  version: number;
  /** RFC 3339. */
  createdTime: string;
}

/** Result of a token's self-lookup; `env` comes from its metadata. `denied`: it is valid, but no policy allows the lookup. */
export type TokenLookup =
  | { dead: true }
  | { denied: true }
  | {
      dead: false;
      ttlS: number;
      creationTtlS: number;
      renewable: boolean;
      /** RFC 3339, null for a token that never expires. */
      expireTime: string | null;
      env: string | null;
    };

/** Parses the response to a login; `refused` describes why it contains no token despite its status. */
export function parseLogin(json: unknown): Login | { refused: string } {
  const auth = isObject(json) && isObject(json['auth']) ? json['auth'] : {};
  if ((auth['mfa_requirement'] ?? null) !== null)
    return { refused: 'a second factor (MFA) is demanded, which an agent cannot give' };
  const { client_token, lease_duration, renewable } = readAnswer(validators.login, json, 'login').auth;
  return { token: client_token, ttlS: lease_duration, renewable };
}

/** Parses the response to a renewal: the token's new lifetime. */
export function parseRenewal(json: unknown): TokenLifetime {
  const { lease_duration, renewable } = readAnswer(validators.renewal, json, 'token renewal').auth;
  return { ttlS: lease_duration, renewable };
}

/** Parses the response to the self-lookup of a valid token. */
export function parseLookup(json: unknown): TokenLookup {
  const { ttl, creation_ttl, renewable, expire_time, meta } = readAnswer(validators.lookup, json, 'token lookup').data;
  const env = meta?.env ?? null;
  return { dead: false, ttlS: ttl, creationTtlS: creation_ttl, renewable, expireTime: expire_time, env };
}

/** Parses the response to the read of a secret. */
export function parseSecret(json: unknown): SecretVersion {
  const { data, metadata } = readAnswer(validators.secret, json, 'secret').data;
  return { data, version: metadata.version, createdTime: metadata.created_time };
}

/** Why a secret is not available, from the status and body of the response. */
export function describeMissingSecret(status: number, json: unknown): string {
  if (status === 403) return 'permission denied';
  if (!isObject(json)) return 'not found';
  const metadata = isObject(json.data) && isObject(json.data.metadata) ? json.data.metadata : null;
  if (metadata?.destroyed === true) return 'the version is destroyed';
  if (typeof metadata?.deletion_time === 'string' && metadata.deletion_time !== '') return 'the version is deleted';
  const warning = parseErrorBody({ errors: json.warnings }).text;
  return warning ?? parseErrorBody(json).text ?? 'not found';
}

/**
 * True for a call that the policies of a valid token do not allow. An invalid token is refused with the same status, but with
 * another message or with further errors.
 */
export function isDeniedByPolicy(status: number, json: unknown): boolean {
  return status === 403 && parseErrorBody(json).text === '1 error occurred: * permission denied';
}

/** True for the response of a KV mount during an upgrade, which ends soon. */
export function isUpgrading(status: number, json: unknown): boolean {
  return status === 400 && parseErrorBody(json).text?.startsWith('Upgrading from non-versioned') === true;
}

/** True when the secretstore refuses to renew this token, which it also does with a 500. */
export function isRenewalRefusal(status: number, json: unknown): boolean {
  return status < 500 || /failed to renew|max TTL/i.test(parseErrorBody(json).text ?? '');
}

/**
 * Describes the clock skew that explains a refused login, null when none does: the refusal must mention a time, and the
 * response's Date must differ by more than a minute.
 */
export function describeClockSkew(date: string | undefined, text: string | null, nowMs: number): string | null {
  const skewS = Math.round((nowMs - Date.parse(date ?? '')) / 1000);
  const isSkewed = Math.abs(skewS) > maxSkewS;
  if (text === null || !isSkewed || !mentionsTime.test(text)) return null;
  return `this host's clock is ${formatSkew(skewS)} the secretstore's (${text})`;
}

const mentionsTime = /expired|not yet valid|in the future|\((exp|nbf|iat)\)/i;
