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
