import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { TransportError } from '../../../platform/http/transportError.ts';
import { PeerError } from '../peerError.ts';
import { SignInError } from './identityProvider.ts';

/** Errors of OAuth by which a provider says that the person, or the grant, is refused. */
const denials = ['access_denied', 'invalid_grant', 'login_required', 'consent_required', 'interaction_required'];
/** What the library says of an answer that shows the provider itself to be out of order. */
const unusable = ['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_TIMEOUT', 'OAUTH_PARSE_ERROR'];

/** An error of the library as the service tells it: the library's own may hold tokens and claims. */
export function providerError(error: unknown): Error {
  if (error instanceof SignInError) return error;
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) return oauthError(error.error);
  const { cause, code = 'UNKNOWN' } = Object(error) as { cause?: unknown; code?: string };
  if (cause instanceof TransportError) return away(cause.code);
  return unusable.includes(code) ? away(code) : new SignInError('invalid', `its answer does not hold (${code})`);
}

function oauthError(code: string): Error {
  const known = /^[a-z_]{1,64}$/.test(code) ? code : 'an unknown error';
  return denials.includes(code) ? new SignInError('denied', `it answers ${known}`) : away(known);
}

function away(reason: string): PeerError {
  return new PeerError('identity provider', reason);
}
