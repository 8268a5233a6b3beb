import {
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  ResponseBodyError,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client';
import type { Authorities } from '../../core/certificateAuthorities.ts';
import { TransportError } from '../../core/http.rules.ts';
import { createFetch } from '../../core/nodeClient.ts';
import { PeerError, reasonOf } from './bundleStorage.ts';

/** Claims of an OpenID provider about a person. */
export type PersonClaims = Readonly<Record<string, unknown>>;

/** What the service must remember between the two halves of a sign-in; whoever has it can finish the sign-in. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** What an OpenID provider has told of a person, by signed or direct answers only. */
export interface KnownPerson {
  /** `sub`, and the claims of the ID token and, where it has no groups, of the userinfo endpoint. */
  readonly claims: PersonClaims & { readonly sub: string };
  readonly refreshToken: string | null;
}

/** An OpenID provider. Each call throws PeerError if it cannot be used, and SignInError if what it says is not to be believed. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Reads its description. */
  check: () => Promise<void>;
  /** The address at which a person signs in. */
  beginSignIn: () => Promise<{ url: string; secrets: SignInSecrets }>;
  /** Exchanges the code of a callback, given with its query. */
  finishSignIn: (query: string, secrets: SignInSecrets) => Promise<KnownPerson>;
  /** Asks again about a person, by the newest refresh token. */
  refresh: (refreshToken: string, subject: string) => Promise<KnownPerson>;
  /** The address at which a person signs out of the provider; null where it has none. */
  signOutUrl: () => Promise<string | null>;
}

/** A sign-in or refresh that the provider has refused (`denied`), or whose answer does not hold (`invalid`). */
export class SignInError extends Error {
  readonly reason: 'denied' | 'invalid';

  constructor(reason: SignInError['reason'], message: string) {
    super(message);
    this.name = 'SignInError';
    this.reason = reason;
  }
}

/** An OpenID provider, and how the service is known there. */
interface ProviderOptions {
  /** Exactly as the provider calls itself. */
  issuer: string;
  authorities: Authorities;
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
  /** Which claim must be asked for at the userinfo endpoint where the ID token has it not. */
  groupsClaim: string;
  /** Where it sends people back to, after they signed in and out. */
  callbackUrl: string;
  signedOutUrl: string;
  /** Milliseconds, of a clock that never goes back. */
  clock: () => number;
}

/** Largest answer in bytes; a person may be in thousands of groups. */
const MAX_BYTES = 1_048_576;
/** Seconds in which an answer must be there. */
const TIMEOUT_S = 10;
/** Milliseconds for which the provider's own description is used. */
const DESCRIPTION_KEPT_MS = 3600_000;

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** Opens an OpenID provider: authorization code with PKCE (S256), state and nonce; nothing is called before the first use. */
export function openIdentityProvider(options: ProviderOptions): IdentityProvider {
  const { issuer, scopes, groupsClaim, callbackUrl, signedOutUrl } = options;
  const describe = keepDescription(options);
  return {
    issuer,
    check: translated(() => describe().then(() => undefined)),
    beginSignIn: translated(async () => {
      const secrets = { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() };
      const url = buildAuthorizationUrl(await describe(), {
        ...{ redirect_uri: callbackUrl, scope: scopes.join(' '), state: secrets.state, nonce: secrets.nonce },
        ...{ code_challenge: await calculatePKCECodeChallenge(secrets.codeVerifier), code_challenge_method: 'S256' },
        ...(scopes.includes('offline_access') && { prompt: 'consent' }),
      });
      return { url: url.href, secrets };
    }),
    finishSignIn: translated(async (query, { state, nonce, codeVerifier }) => {
      const checks = {
        ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier },
        idTokenExpected: true,
      };
      const description = await describe();
      const tokens = await authorizationCodeGrant(description, new URL(callbackUrl + query), checks);
      return personOf(description, tokens, { groupsClaim });
    }),
    refresh: translated(async (refreshToken, subject) => {
      const description = await describe();
      const tokens = await refreshTokenGrant(description, refreshToken);
      const person = await personOf(description, tokens, { groupsClaim, subject });
      if (person.claims.sub !== subject)
        throw new SignInError('invalid', 'the refreshed ID token is of another person');
      return { ...person, refreshToken: person.refreshToken ?? refreshToken };
    }),
    signOutUrl: translated(async () => {
      const description = await describe();
      if (description.serverMetadata().end_session_endpoint === undefined) return null;
      return buildEndSessionUrl(description, { post_logout_redirect_uri: signedOutUrl }).href;
    }),
  };
}

/** The provider's description (OpenID Connect Discovery), read anew once an hour; a failure is not kept. */
function keepDescription(options: ProviderOptions): () => Promise<Configuration> {
  const { issuer, clientId, clientSecret, authorities, clock } = options;
  const fetch = createFetch(authorities, { maxBytes: MAX_BYTES, connectTimeoutMs: TIMEOUT_S * 1000 });
  const read = () =>
    discovery(new URL(issuer), clientId, {}, clientAuth(clientSecret), {
      [customFetch]: fetch,
      timeout: TIMEOUT_S,
      // An ID token counts by its signature, not by the connection that brought it.
      execute: [enableNonRepudiationChecks],
    });
  let last: { at: number; description: Promise<Configuration> } | undefined;
  return () => {
    if (last === undefined || clock() - last.at > DESCRIPTION_KEPT_MS) {
      const next = { at: clock(), description: read() };
      next.description.catch(() => last === next && (last = undefined));
      last = next;
    }
    return last.description;
  };
}

/** The client secret in the header, which is the default of the standard, or in the body where the provider wants that. */
function clientAuth(secret: string): ClientAuth {
  const basic = ClientSecretBasic(secret);
  const post = ClientSecretPost(secret);
  return (server, ...call) => {
    const methods = server.token_endpoint_auth_methods_supported;
    (methods?.includes('client_secret_basic') === false ? post : basic)(server, ...call);
  };
}

async function personOf(
  description: Configuration,
  tokens: Tokens,
  { groupsClaim, subject }: { groupsClaim: string; subject?: string },
): Promise<KnownPerson> {
  const idToken = tokens.claims();
  const sub = idToken?.sub ?? subject;
  if (sub === undefined) throw new SignInError('invalid', 'there is no ID token');
  const isAsked = idToken?.[groupsClaim] === undefined && description.serverMetadata().userinfo_endpoint !== undefined;
  const info = isAsked ? await fetchUserInfo(description, tokens.access_token, sub) : {};
  return { claims: { ...info, ...idToken, sub }, refreshToken: tokens.refresh_token ?? null };
}

function translated<Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) {
  return (...args: Args): Promise<Result> =>
    call(...args).catch((error: unknown) => Promise.reject(providerError(error)));
}

/** Errors of OAuth by which a provider says that the person, or the grant, is refused. */
const denials = ['access_denied', 'invalid_grant', 'login_required', 'consent_required', 'interaction_required'];
/** What the library says of an answer that shows the provider itself to be out of order. */
const unusable = ['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_TIMEOUT', 'OAUTH_PARSE_ERROR'];

/** An error of the library as the service tells it: the library's own may hold tokens and claims. */
function providerError(error: unknown): Error {
  if (error instanceof SignInError) return error;
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) return oauthError(error.error);
  const { cause, code = 'UNKNOWN' } = Object(error) as { cause?: unknown; code?: string };
  if (cause instanceof TransportError) return away(reasonOf(cause, 'oidc.issuer_ca'));
  return unusable.includes(code) ? away(code) : new SignInError('invalid', `its answer does not hold (${code})`);
}

function oauthError(code: string): Error {
  const known = /^[a-z_]{1,64}$/.test(code) ? code : 'an unknown error';
  return denials.includes(code) ? new SignInError('denied', `it answers ${known}`) : away(known);
}

function away(reason: string): PeerError {
  return new PeerError('identity provider', reason);
}
