import { isObject } from '../../../protocol/jsonFields.ts';
import { printable } from '../../../protocol/printable.ts';

/** For whom a token must be; otherwise it could be a login of another service, which a certificate authority must not get. */
const audience = 'sigstore';

/** Why an OIDC token gets no certificate, without its text; null when it may. Its signature is its authority's to verify. */
export function identityTokenProblem(token: string, nowMs: number): string | null {
  const claims = claimsOf(token);
  if (claims === null) return 'is no OIDC identity token (JWT)';
  const audiences = [claims['aud']].flat();
  if (!audiences.includes(audience))
    return `is for ${printable(audiences.join(', ')) || 'nobody'}, not for ${audience}: ask its issuer for one with that audience`;
  const expiry = claims['exp'];
  if (typeof expiry !== 'number' || Math.abs(expiry) * 1000 > latestMs) return 'does not tell when it expires';
  return expiry * 1000 > nowMs ? null : `expired at ${new Date(expiry * 1000).toISOString()}: get a new one`;
}

/** Of a `Date`; its earliest is as far before 1970. */
const latestMs = 8.64e15;

function claimsOf(token: string): Record<string, unknown> | null {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null;
  const payload = token.slice(token.indexOf('.') + 1, token.lastIndexOf('.'));
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return isObject(claims) ? claims : null;
  } catch {
    return null;
  }
}
