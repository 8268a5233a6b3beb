import { type Fault, refusedFault } from '../../machines/fault.ts';

/** `trust.bundles` or `trust.images` of a host: the signers that it trusts (spec §18). Paths are absolute. */
export interface TrustSettings {
  /** How many different signers must have signed; 1 by default. */
  readonly threshold?: number;
  /** Files of public keys, in PEM. */
  readonly keys?: readonly string[];
  readonly identities?: readonly TrustedIdentity[];
  /** File of a Sigstore trust root, in JSON; needed for identities. */
  readonly root?: string;
}

/** `trust.images` of a host: signers for the images of some repositories, and for all other images. */
export interface ImageTrustSettings extends TrustSettings {
  readonly rules?: readonly ImageRule[];
}

/** The signers of the images in some repositories. */
export interface ImageRule extends TrustSettings {
  /** A registry, or a path in it: `ghcr.io/acme` stands for all repositories below it. */
  readonly repository: string;
  /**
   * The repository that signatures name in place of `repository`, because the images were copied; `*`: any. By default
   * signatures must name the repository that the image is pulled from.
   */
  readonly signed_as?: string;
}

/** The rule with the longest path that covers a repository (`registry/path`); null without one. */
export function ruleFor<Rule extends Pick<ImageRule, 'repository'>>(
  rules: readonly Rule[],
  repository: string,
): Rule | null {
  const fitting = rules.filter((rule) => `${repository}/`.startsWith(`${rule.repository}/`));
  return fitting.toSorted((one, other) => other.repository.length - one.repository.length)[0] ?? null;
}

/** The repository that the signatures of an image must name; null for any. */
export function signedRepository(
  repository: string,
  rule: Pick<ImageRule, 'repository' | 'signed_as'> | null,
): string | null {
  if (rule?.signed_as === undefined) return repository;
  return rule.signed_as === '*' ? null : `${rule.signed_as}${repository.slice(rule.repository.length)}`;
}

/** The holder of a certificate, by the exact words of it. */
export interface TrustedIdentity {
  /** URL of the OpenID provider that knew the holder. */
  readonly issuer: string;
  /** E-mail address or URI of the holder. It may end in `*` after `@refs/tags/`, for all tags of a repository. */
  readonly subject: string;
}

/** A subject without `*`, or one that ends in it after `@refs/tags/`. */
export const subjectPattern = '[^*]*(?:[^*]|@refs/tags/[^*]*\\*)';

/** True if a trusted identity is the holder of a certificate. */
export function isIdentity(trusted: TrustedIdentity, { issuer, subject }: TrustedIdentity): boolean {
  if (trusted.issuer !== issuer) return false;
  const [, prefix] = /^(.*@refs\/tags\/[^*]*)\*$/s.exec(trusted.subject) ?? [];
  if (prefix === undefined) return trusted.subject === subject;
  return subject.length > prefix.length && subject.startsWith(prefix);
}

/** Most signatures of one bundle, and the bytes of each as JSON, that are kept, handed out and looked at (spec §18). */
export const signatureLimits = { count: 64, bytes: 65_536 } as const;

const { count, bytes } = signatureLimits;

/** Largest answer of signatures in bytes: a JSON array of as many as there may be, and a line end. */
export const maxSignatureListBytes = count * (bytes + 1) + 2;

/** The fault of an answer that is larger. */
export function signaturesTooLarge(): Fault {
  return notSignatures(`the answer of the tenancy service is larger than ${count} signatures of ${bytes} bytes`);
}

/** The signatures of an answer, not verified yet. Throws SIGNATURE_REFUSED unless it is a list of limited size. */
export function parseSignatureList(json: unknown): unknown[] {
  if (!Array.isArray(json)) throw notSignatures('the answer of the tenancy service is not a list of signatures');
  if (json.length > count) throw notSignatures(`the answer of the tenancy service has more than ${count} signatures`);
  const large = json.findIndex((signature) => !isWithinBound(signature));
  if (large >= 0) throw notSignatures(`signature ${large + 1} has more than ${bytes} bytes`);
  return json as unknown[];
}

/**
 * The work of verifying a signature grows faster than its size; a signature that is nested too deep to be written is
 * invalid.
 */
function isWithinBound(signature: unknown): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(signature)) <= bytes;
  } catch {
    return false;
  }
}

function notSignatures(detail: string): Fault {
  return refusedFault([{ code: 'SIGNATURE_REFUSED', detail }]);
}
