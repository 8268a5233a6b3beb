/** `trust.bundles` or `trust.images` of a host: whose signatures of those it believes (spec §18). Paths are absolute. */
export interface TrustSettings {
  /** How many different signers must have signed; 1 by default. */
  readonly threshold?: number;
  /** Files of public keys, in PEM. */
  readonly keys?: readonly string[];
  readonly identities?: readonly TrustedIdentity[];
  /** File of a Sigstore trust root, in JSON; needed for identities. */
  readonly root?: string;
}

/** The holder of a certificate, by the exact words of it. */
export interface TrustedIdentity {
  /** URL of the OpenID provider that knew the holder. */
  readonly issuer: string;
  /** E-mail address or URI of the holder. */
  readonly subject: string;
}
