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

/** State of a sign-in between its two halves; anyone who has it can finish the sign-in. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Data about a person from an OpenID provider, only from signed or direct answers. */
export interface KnownPerson {
  /** `sub`, and the claims of the ID token and, if that has no groups, of the userinfo endpoint. */
  readonly claims: PersonClaims & { readonly sub: string };
  readonly refreshToken: string | null;
}

/**
 * An OpenID provider. Each call throws PeerError if the provider cannot be used, and SignInError if its answer is not
 * trustworthy.
 */
export interface IdentityProvider {
  readonly issuer: string;
  /** Reads the provider's metadata. */
  check: () => Promise<void>;
  /** Returns the address at which a person signs in. */
  beginSignIn: () => Promise<{ url: string; secrets: SignInSecrets }>;
  /** Exchanges the code of a callback, given its query. */
  finishSignIn: (query: string, secrets: SignInSecrets) => Promise<KnownPerson>;
  /** Queries the provider about a person again, with the newest refresh token. */
  refresh: (refreshToken: string, subject: string) => Promise<KnownPerson>;
  /** Returns the address at which a person signs out of the provider; null if it has none. */
  signOutUrl: () => Promise<string | null>;
}

/** The provider refused a sign-in or refresh (`denied`), or its answer is not valid (`invalid`). */
export class SignInError extends Error {
  readonly reason: 'denied' | 'invalid';

  constructor(reason: SignInError['reason'], message: string) {
    super(message);
    this.name = 'SignInError';
    this.reason = reason;
  }
}

/** An OpenID provider, and the service's registration there. */
interface ProviderOptions {
  /** Exactly the issuer that the provider announces. */
  issuer: string;
  authorities: Authorities;
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
  /** The claim to request at the userinfo endpoint if the ID token lacks it. */
  groupsClaim: string;
  /** Address to which the provider redirects people after signing in or out. */
  callbackUrl: string;
  signedOutUrl: string;
  /** Milliseconds, of a clock that never goes back. */
  clock: () => number;
}

/** Largest answer in bytes; a person may be in thousands of groups. */
const MAX_BYTES = 1_048_576;
/** Seconds within which the provider must answer. */
const TIMEOUT_S = 10;
/** Milliseconds for which the provider's metadata is cached. */
const DESCRIPTION_KEPT_MS = 3600_000;

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/**
 * Opens an OpenID provider: authorization code with PKCE (S256), state and nonce; makes no call before the first use.
 */
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

/** Caches the provider's metadata (OpenID Connect Discovery) for an hour; a failure is not cached. */
function keepDescription(options: ProviderOptions): () => Promise<Configuration> {
  const { issuer, clientId, clientSecret, authorities, clock } = options;
  const fetch = createFetch(authorities, { maxBytes: MAX_BYTES, connectTimeoutMs: TIMEOUT_S * 1000 });
  const read = () =>
    discovery(new URL(issuer), clientId, {}, clientAuth(clientSecret), {
      [customFetch]: fetch,
      timeout: TIMEOUT_S,
      // Verify an ID token by its signature, even though it came over a direct connection.
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

/** Sends the client secret in the header, the default of the standard, or in the body if the provider requires that. */
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

/** OAuth errors with which a provider refuses the person or the grant. */
const denials = ['access_denied', 'invalid_grant', 'login_required', 'consent_required', 'interaction_required'];
/** Error codes of the library that show a faulty provider. */
const unusable = ['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_TIMEOUT', 'OAUTH_PARSE_ERROR'];

/** Converts an error of the library, whose message may contain tokens and claims, to an error of the service. */
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
