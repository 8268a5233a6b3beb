import { fieldsOf } from '../../../protocol/jsonFields.ts';
import { isObject, serverWords } from '../../../protocol/errorBody.ts';

/** A token that the secretstore gave; the id is a secret. */
export interface Login {
  token: string;
  ttlS: number;
  renewable: boolean;
}

/** One version of a key of the secretstore; every value in `data` is a secret. */
export interface KvVersion {
  data: Record<string, unknown>;
  version: number;
  /** RFC 3339. */
  createdTime: string;
}

/** A token as the secretstore sees it; `env` comes from its metadata. One that is denied lives, but may not see itself. */
export type Lookup =
  | { dead: true }
  | { denied: true }
  | {
      dead: false;
      ttlS: number;
      creationTtlS: number;
      renewable: boolean;
      /** RFC 3339, null for a token without end. */
      expireTime: string | null;
      env: string | null;
    };

/** A login's answer; `refused` says in words why it gives no token, though the status is good. */
export function parseLogin(json: unknown): Login | { refused: string } {
  const auth = fieldsOf(json, 'login').object('auth');
  if (auth.has('mfa_requirement')) return { refused: 'a second factor (MFA) is demanded, which an agent cannot give' };
  return { token: auth.text('client_token'), ttlS: auth.count('lease_duration'), renewable: auth.flag('renewable') };
}

/** What is left of the token after its renewal. */
export function parseRenewal(json: unknown): { ttlS: number; renewable: boolean } {
  const auth = fieldsOf(json, 'token renewal').object('auth');
  return { ttlS: auth.count('lease_duration'), renewable: auth.flag('renewable') };
}

/** A living token's facts. */
export function parseLookup(json: unknown): Lookup {
  const data = fieldsOf(json, 'token lookup').object('data');
  const meta = data.has('meta') ? data.object('meta') : null;
  return {
    dead: false,
    ttlS: data.count('ttl'),
    creationTtlS: data.count('creation_ttl'),
    renewable: data.flag('renewable'),
    expireTime: data.textOrNull('expire_time'),
    env: meta?.has('env') === true ? meta.text('env') : null,
  };
}

/** A secret that was found. */
export function parseSecret(json: unknown): KvVersion {
  const outer = fieldsOf(json, 'secret').object('data');
  const metadata = outer.object('metadata');
  return {
    data: outer.record('data'),
    version: metadata.count('version'),
    createdTime: metadata.text('created_time'),
  };
}

/** Why a secret was not given, from the status and body of the secretstore's answer. */
export function absenceOf(status: number, json: unknown): string {
  if (status === 403) return 'permission denied';
  if (!isObject(json)) return 'not found';
  const metadata = isObject(json.data) && isObject(json.data.metadata) ? json.data.metadata : null;
  if (metadata?.destroyed === true) return 'the version is destroyed';
  if (typeof metadata?.deletion_time === 'string' && metadata.deletion_time !== '') return 'the version is deleted';
  const warning = serverWords({ errors: json.warnings }).text;
  return warning ?? serverWords(json).text ?? 'not found';
}

/**
 * True for a call that the policies of a living token do not allow. A dead token is refused with the same status, but
 * with bare words, or with more errors than this one.
 */
export function isDeniedByPolicy(status: number, json: unknown): boolean {
  return status === 403 && serverWords(json).text === '1 error occurred: * permission denied';
}

/** True for the answer of a KV mount that is being upgraded and soon works again. */
export function isUpgrading(status: number, json: unknown): boolean {
  return status === 400 && /^Upgrading from non-versioned/.test(serverWords(json).text ?? '');
}

/** True for a 500 that is in truth the refusal to renew this token. */
export function isRenewalRefusal(status: number, json: unknown): boolean {
  return status < 500 || /failed to renew|max TTL/i.test(serverWords(json).text ?? '');
}

/**
 * How a wrong clock explains a refused login, in words; null when it does not: the refusal must speak of time and the
 * server's Date be more than a minute away.
 */
export function clockSkewOf(date: string | undefined, text: string | null, nowMs: number): string | null {
  const skewS = Math.round((nowMs - Date.parse(date ?? '')) / 1000);
  if (!Number.isFinite(skewS) || Math.abs(skewS) <= toleratedSkewS || !speaksOfTime.test(text ?? '')) return null;
  const side = skewS > 0 ? 'ahead of' : 'behind';
  return `this host's clock is ${Math.abs(skewS)} s ${side} the secretstore's (${text ?? ''})`;
}

/** Seconds; the leeway that the secretstore itself grants. */
const toleratedSkewS = 60;
const speaksOfTime = /expired|not yet valid|in the future|\((exp|nbf|iat)\)/i;
