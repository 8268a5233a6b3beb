import type { Refusal } from '../../machines/refusals.ts';
import { isIdentity, type ImageRule, ruleFor, signedRepository, type TrustedIdentity } from '../api/trust.rules.ts';
import type { BundleClaim } from './trust.ts';

/** A signature that is genuine, by somebody who is trusted, of the archive. */
export interface VerifiedSignature {
  /** `key SHA256:…`, or subject and issuer of an identity. */
  signer: string;
  claim: BundleClaim;
}

/** The genuine signatures, and why each of the others is not accepted. */
export interface Verification {
  verified: VerifiedSignature[];
  faults: string[];
}

/** The signers of a bundle, and the refusal if they are too few. */
export interface SignatureJudgement {
  signers: string[];
  refusal: Refusal | null;
}

/**
 * Compares the claims of genuine signatures with the manifest: a signature of another environment, version or sequence
 * does not count (spec §18).
 */
export function judgeClaims(
  { verified, faults }: Verification,
  manifest: BundleClaim,
  threshold: number,
): SignatureJudgement {
  const lies = verified.flatMap(({ signer, claim }) => {
    const field = falseFieldOf(claim, manifest);
    return field === null ? [] : [`${signer} signed another ${field} than the manifest's`];
  });
  const signers = signersOf(verified, manifest);
  const count = verified.length + faults.length;
  return { signers, refusal: signatureRefusal({ threshold, signers, count, faults: [...lies, ...faults] }) };
}

/** The signers whose claim is true of the manifest, each once, sorted. */
export function signersOf(verified: readonly VerifiedSignature[], manifest: BundleClaim): string[] {
  const truthful = verified.filter(({ claim }) => falseFieldOf(claim, manifest) === null);
  return [...new Set(truthful.map(({ signer }) => signer))].sort();
}

/** The first field of a claim that is not as in the manifest; null when the claim is true. */
export function falseFieldOf(claim: BundleClaim, manifest: BundleClaim): keyof BundleClaim | null {
  return (['name', 'env', 'version', 'sequence'] as const).find((field) => claim[field] !== manifest[field]) ?? null;
}

/** The result of verifying the signatures of a bundle or an image. */
interface SignatureVerdict {
  /** How many different signers are demanded. */
  threshold: number;
  /** The signers, each once. */
  signers: readonly string[];
  /** How many signatures there are. */
  count: number;
  /** Why each of the others is not accepted, and which files of the trust cannot be used. */
  faults: readonly string[];
}

const maxFaults = 10;

/** SIGNATURE_REFUSED unless enough signers signed a bundle (spec §9, §18). */
export function signatureRefusal(verdict: SignatureVerdict): Refusal | null {
  const detail = missingSignatures(verdict, 'trust.bundles');
  return detail === null ? null : { code: 'SIGNATURE_REFUSED', detail };
}

/** The missing part of the signatures that a trust requires, with up to ten faults; null if enough signers signed. */
export function missingSignatures(
  { threshold, signers, count, faults }: SignatureVerdict,
  trust: string,
): string | null {
  if (signers.length >= threshold) return null;
  const found = count === 0 ? 'there is no signature' : signedBy(signers);
  const more = faults.length > maxFaults ? [`and ${faults.length - maxFaults} more`] : [];
  const demand = `${found}, and ${threshold === 1 ? 'a signature by one' : `signatures by ${threshold}`} of ${trust} must be`;
  return [demand, ...faults.slice(0, maxFaults), ...more].join('; ');
}

function signedBy(signers: readonly string[]): string {
  return signers.length === 0 ? 'nobody who is trusted has signed' : `only ${signers.join(', ')} signed`;
}

/** Why one signature is not accepted; the message is the reason, in printable text. */
export class SignatureFault extends Error {
  override name = 'SignatureFault';
}

/** The usable signers in `trust.bundles`, `trust.images` or one of its rules, as they are on the host now. */
export interface SignersNow {
  threshold: number;
  /** Files of usable public keys, and the signer that each is (`key SHA256:…`). */
  keys: readonly { path: string; signer: string }[];
  /** Empty without a readable trust root. */
  identities: readonly TrustedIdentity[];
  /** File of the trust root, the sha256 of its JSON without white space, and its parts; null without a readable one. */
  root: { path: string; sha256: string; parts: readonly RootPart[] } | null;
}

/** A certificate authority, log or timestamp authority of a trust root. */
export interface RootPart {
  /** Identifies its certificates or its key. */
  id: string;
  /** RFC 3339; null if it does not expire. */
  end: string | null;
}

/** The trust root by which identities were verified. */
export interface VerifiedRoot {
  /** When they were verified, RFC 3339. */
  at: string;
  /** The ids of its parts. */
  parts: readonly string[];
}

/** The signers that a host trusts now; null where it requires no signature. */
export interface TrustNow {
  bundles: SignersNow | null;
  images: (SignersNow & { rules: readonly (SignersNow & Pick<ImageRule, 'repository' | 'signed_as'>)[] }) | null;
}

/** The fingerprints of all usable files, by path: the signer for a key, `sha256 …` for a trust root. */
export function fingerprintsOf({ bundles, images }: TrustNow): Map<string, string> {
  const all = [bundles, images, ...(images?.rules ?? [])].filter((each) => each !== null);
  return new Map([
    ...all.flatMap(({ keys }) => keys.map(({ path, signer }) => [path, signer] as const)),
    ...all.flatMap(({ root }) => (root === null ? [] : [[root.path, `sha256 ${root.sha256}`] as const])),
  ]);
}

/** A release with the signers that were verified when it was applied; none if the host required no signature then. */
export interface SignedRelease {
  signers?: readonly string[];
  /** The trust root that verified its signers; null without identities, absent in older records. */
  trust_root?: VerifiedRoot | null;
  services: readonly { name: string }[];
  verified_images?: readonly SignedImageRecord[];
}

interface SignedImageRecord {
  service: string;
  /** `registry/path`; absent if it contains a secret, and in older records. */
  repository?: string | undefined;
  /** The repository that its signatures had to name, if a rule named it; null for any. */
  signed_as?: string | null;
  signers: readonly string[];
  trust_root?: VerifiedRoot | null;
}

/** A release, or the image of one of its services, that too few signers have signed who are trusted now. */
export interface UntrustedNow {
  /** The service whose image it is; null for the bundle. */
  service: string | null;
  /** The signers that were verified when it was applied. */
  signers: readonly string[];
  /** Its signers that are trusted now. */
  trusted: readonly string[];
  /** The signers that count for it. */
  required: SignersNow;
  /** True if identities do not count because the trust root no longer has a part that may have verified them. */
  isOtherRoot: boolean;
  /** The repository that its signatures had to name, null for any, and the one that they must name now; null if that is met. */
  otherName: { signed: string | null; required: string } | null;
}

/**
 * The bundle, if too few of its recorded signers are trusted now, then images of its services in the same situation.
 * Compares names of signers, and parts of trust roots; no signature is verified again.
 */
export function untrustedNow(release: SignedRelease, { bundles, images }: TrustNow): UntrustedNow[] {
  const { signers = [], trust_root = null, services, verified_images: verified = [] } = release;
  const ofImages = (name: string): UntrustedNow[] => {
    const image = verified.find(({ service }) => service === name);
    if (images === null) return [];
    const rule = ruleFor(images.rules, image?.repository ?? '');
    const { signers: by = [], trust_root: root = null } = image ?? {};
    return judgeSigners({ service: name, signers: by, root, otherName: otherNameOf(image, rule) }, rule ?? images);
  };
  return [
    ...(bundles === null ? [] : judgeSigners({ service: null, signers, root: trust_root, otherName: null }, bundles)),
    ...services.flatMap(({ name }) => ofImages(name)),
  ];
}

type SignedPart = Pick<UntrustedNow, 'service' | 'signers' | 'otherName'> & { root: VerifiedRoot | null };

/** The name that the signatures of an image had to have, if they must have another one now. */
function otherNameOf(
  image: SignedImageRecord | undefined,
  rule: Pick<ImageRule, 'repository' | 'signed_as'> | null,
): UntrustedNow['otherName'] {
  const { repository, signed_as: signed = repository } = image ?? {};
  if (repository === undefined || signed === undefined) return null;
  const required = signedRepository(repository, rule);
  return required === null || required === signed ? null : { signed, required };
}

function judgeSigners({ service, signers, root, otherName }: SignedPart, required: SignersNow): UntrustedNow[] {
  const isOtherRoot = root !== null && !isWithin(root, required.root?.parts ?? []);
  const { keys, identities } = required;
  const counting = { keys, identities: isOtherRoot ? [] : identities };
  const trusted = signers.filter((signer) => isTrusted(signer, counting));
  if (trusted.length >= required.threshold && otherName === null) return [];
  return [{ service, signers, trusted, required, isOtherRoot, otherName }];
}

/**
 * True if a trust root still has all parts that may have verified a signature. A part that ended after the signature was
 * verified counts, because the signature is older.
 */
function isWithin({ at, parts }: VerifiedRoot, now: readonly RootPart[]): boolean {
  const valid = now.filter(({ end }) => end === null || Date.parse(end) >= Date.parse(at));
  const ids = new Set(valid.map(({ id }) => id));
  return parts.every((id) => ids.has(id));
}

function isTrusted(signer: string, { keys, identities }: Pick<SignersNow, 'keys' | 'identities'>): boolean {
  const [, subject, issuer] = /^(.*) \(([^()]*)\)$/s.exec(signer) ?? [];
  if (subject === undefined || issuer === undefined) return keys.some((key) => key.signer === signer);
  return identities.some((each) => isIdentity(each, { issuer, subject }));
}

/** One sentence about an untrusted bundle or image: who signed it, and who must, by file and fingerprint. */
export function describeUntrusted({ service, signers, trusted, required, ...but }: UntrustedNow): string {
  const { isOtherRoot, otherName } = but;
  const what = service === null ? 'the applied bundle' : `the image of ${service}`;
  if (otherName !== null && trusted.length >= required.threshold)
    return `${what} is signed for ${otherName.signed ?? 'any repository'}, and must be for ${otherName.required}`;
  const lost = signers.filter((signer) => !trusted.includes(signer));
  const rootNote = isOtherRoot && required.root !== null ? ` by the changed trust root ${required.root.path}` : '';
  const signed = [
    ...(signers.length === 0 ? ['was applied without a verified signature'] : []),
    ...(lost.length === 0 ? [] : [`is signed by ${lost.join(', ')}, no longer trusted here${rootNote}`]),
    ...(trusted.length === 0 ? [] : [`is signed by ${trusted.join(', ')}, and that is not enough`]),
  ];
  return `${what} ${signed.join(', and ')}; ${describeRequired(required, trusted)}`;
}

function describeRequired({ threshold, keys, identities }: SignersNow, present: readonly string[]): string {
  const all = [
    ...keys.map(({ path, signer }) => ({ signer, name: `${path} (${signer})` })),
    ...identities.map((each) => ({ signer: identityName(each), name: identityName(each) })),
  ];
  if (new Set(all.map(({ signer }) => signer)).size > threshold) {
    const signatures = threshold === 1 ? '1 signature' : `${threshold} signatures`;
    return `${signatures} required, from ${all.map(({ name }) => name).join(', ')}`;
  }
  const missing = all.filter(({ signer }) => !present.includes(signer)).map(({ name }) => name);
  return missing.length === 0 ? 'no other signer is trusted here' : `missing: ${missing.join(', ')}`;
}

/** The name under which signatures by an identity are recorded. */
export function identityName({ issuer, subject }: TrustedIdentity): string {
  return `${subject} (${issuer})`;
}
