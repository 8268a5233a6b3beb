import type { KeyObject } from 'node:crypto';
import type { Bundle } from '@sigstore/bundle';
import { crypto, dsse } from '@sigstore/core';
import { type SignedEntity, toSignedEntity, type TrustMaterial, Verifier } from '@sigstore/verify';
import { isIdentity } from '../api/trust.rules.ts';
import { printable } from '../core/text.rules.ts';
import { identityName, SignatureFault, type Verification, type VerifiedSignature } from './judgement.rules.ts';
import { readSignature, statementIn } from './readSignature.ts';
import { type BundleTrust, keyName, type PublicKey, readPublicKey } from './trust.ts';
import { emptyRoot, readRoot, type TrustRoot } from './trustRoot.ts';

/** Verifies signatures of the archive with this sha256 (hex), offline (spec §18). */
export function verifySignatures(trust: BundleTrust, sha256: string, signatures: readonly unknown[]): Verification {
  const verifier = openVerifier(trust);
  if (typeof verifier === 'string') return { verified: [], faults: [verifier] };
  const [verified, faults]: [VerifiedSignature[], string[]] = [[], []];
  for (const [index, signature] of signatures.entries()) {
    try {
      verified.push(verify(signature, sha256, verifier));
    } catch (error) {
      faults.push(`signature ${index + 1}: ${reasonOf(error)}`);
    }
  }
  return { verified, faults };
}

function verify(json: unknown, sha256: string, verifier: SignatureVerifier): VerifiedSignature {
  const signature = readSignature(json);
  const statement = statementIn(signature);
  if (statement.sha256 !== sha256) throw new SignatureFault(`it is of another archive (${statement.sha256})`);
  return { signer: verifier.signerOf(signature), claim: statement.claim };
}

/** Verifies signatures by the keys, the identities and the root of a trust, offline (spec §18). */
export interface SignatureVerifier {
  /** The usable keys, by the hint with which a signature names them. */
  keys: ReadonlyMap<string, PublicKey>;
  /**
   * The author of a signature: `key SHA256:…`, or subject and issuer of the trusted identity. Keys need no log entry. Identities
   * need one, a certificate that its authority logged (SCT), and a verified time. `payload` is what a signature without
   * an envelope is of. Throws `SignatureFault`, or an error of the library.
   */
  signerOf: (signature: Bundle, payload?: Buffer) => string;
}

/** A verifier by a trust; a text says why its root cannot be used. */
export function openVerifier(trust: BundleTrust): SignatureVerifier | string {
  const root = trust.root === null ? null : readRoot(trust.root);
  if (typeof root === 'string') return `the trust root ${root}`;
  const context: Context = { trust, keys: keysOf(trust), root };
  return {
    keys: context.keys,
    signerOf: (signature, payload) => {
      const { content } = signature.verificationMaterial;
      const entity = signedEntityOf(signature, payload);
      return content.$case === 'publicKey'
        ? verifyByKey(entity, content.publicKey.hint, context)
        : verifyByCertificate(entity, context);
    },
  };
}

/** Errors of the library have a code; any other error is also a fault of the signature: it is never accepted. */
export function reasonOf(error: unknown): string {
  if (error instanceof SignatureFault) return error.message;
  const { code, message } = error as { code?: string; message: string };
  return `${code ?? 'malformed'}: ${printable(message)}`;
}

interface Context {
  trust: BundleTrust;
  keys: ReadonlyMap<string, PublicKey>;
  root: TrustRoot | null;
}

function keysOf({ keys }: BundleTrust): ReadonlyMap<string, PublicKey> {
  const usable = keys.map(readPublicKey).filter((key) => typeof key !== 'string');
  return new Map(usable.map((key) => [key.hint, key]));
}

/** A log entry for a key's signature counts only if a root lists the trusted logs. */
function verifyByKey(entity: SignedEntity, hint: string, { keys, root }: Context): string {
  const trusted = keys.get(hint);
  if (trusted === undefined) throw new SignatureFault(`it is by ${printable(keyName(hint))}, which is not trusted`);
  const judged: SignedEntity = root === null ? { ...entity, tlogEntries: [], timestamps: [] } : entity;
  const findKey: TrustMaterial['publicKey'] = () => ({ publicKey: trusted.key, validFor: () => true });
  const thresholds = { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 };
  new Verifier(materialOf(root, findKey), thresholds).verify(judged);
  return keyName(hint);
}

function verifyByCertificate(entity: SignedEntity, { trust, root }: Context): string {
  if (root === null || trust.identities.length === 0)
    throw new SignatureFault('it is by the holder of a certificate, and no identity is trusted');
  const thresholds = { ctlogThreshold: 1, tlogThreshold: 1, timestampThreshold: 1 };
  const { identity } = verified(() => new Verifier(materialOf(root), thresholds).verify(entity), entity, root);
  const [subject, issuer] = [identity?.subjectAlternativeName ?? '', identity?.extensions?.issuer ?? ''];
  const trusted = trust.identities.find((each) => isIdentity(each, { issuer, subject }));
  if (trusted === undefined)
    throw new SignatureFault(`subject: it is by ${printable(subject)} (${printable(issuer)}), who is not trusted`);
  return identityName({ subject: trusted.subject, issuer });
}

/** Verifies; an error of the library says which part of the trust does not fit: root, time or instance. */
function verified<T>(verify: () => T, entity: SignedEntity, root: TrustRoot): T {
  try {
    return verify();
  } catch (error) {
    const part = partOf(error as { code?: string; message: string }, entity, root);
    throw part === null ? error : new SignatureFault(`${part} (${reasonOf(error)})`);
  }
}

/** Null also for a certificate that cannot be read. */
function partOf(...[error, entity, root]: Parameters<typeof unfittingPart>): string | null {
  try {
    return unfittingPart(error, entity, root);
  } catch {
    return null;
  }
}

/** A certificate of another Sigstore instance has another authority and other logs than the trust root. */
function unfittingPart(
  { code = '', message }: { code?: string; message: string },
  { key, tlogEntries }: SignedEntity,
  { certificateAuthorities, tlogs }: TrustRoot,
): string | null {
  if (key.$case !== 'certificate') return null;
  const { certificate } = key;
  const by = printable(certificate.subjectAltName ?? 'somebody without a name');
  if (code === 'TIMESTAMP_ERROR') return `time: it has no verified time at which the certificate of ${by} was valid`;
  if (message.includes('SCT')) return `instance: no certificate log of the trust root knows the certificate of ${by}`;
  const isKnownLog = ({ logId }: (typeof tlogEntries)[number]) => tlogs.some((log) => log.logID.equals(logId.keyId));
  if (code.startsWith('TLOG') && !tlogEntries.every(isKnownLog))
    return `instance: its transparency log is not in the trust root; it may be of another Sigstore instance`;
  if (code !== 'CERTIFICATE_ERROR') return null;
  const authorities = certificateAuthorities.flatMap(({ certChain }) => certChain);
  if (!authorities.some((authority) => isIssuedBy(certificate, authority)))
    return `root: no authority of the trust root issued the certificate of ${by}; it may be of another Sigstore instance`;
  const [from, until] = [certificate.notBefore, certificate.notAfter].map((time) => time.toISOString());
  return `time: the certificate of ${by} is valid from ${from} to ${until}, and it or its authority was not when it signed`;
}

type Certificate = TrustMaterial['certificateAuthorities'][number]['certChain'][number];

function isIssuedBy(certificate: Certificate, authority: Certificate): boolean {
  try {
    return authority.subject.equals(certificate.issuer) && certificate.verify(authority);
  } catch {
    return false;
  }
}

function materialOf(root: TrustRoot | null, publicKey: TrustMaterial['publicKey'] = noKey): TrustMaterial {
  return { ...(root ?? emptyRoot), publicKey };
}

/** Only certificates are verified by a root alone. */
function noKey(): never {
  throw new SignatureFault('it is by a key, and not by the holder of a certificate');
}

/** Digests with which cosign 3 signs by keys on these curves; cosign 2, as the library, knows SHA-256 only. */
const curveDigests: Record<string, string> = { secp384r1: 'sha384', secp521r1: 'sha512' };

/**
 * The library's verification of a Sigstore bundle; its signature may use the digest that fits the curve of the key, or
 * none with Ed25519. `payload` is what a signature without an envelope is of.
 */
export function signedEntityOf(bundle: Bundle, payload: Buffer = Buffer.alloc(0)): SignedEntity {
  const entity = toSignedEntity(bundle, payload);
  const { signature } = entity;
  const signed = signedBytesOf(bundle, payload);
  const isByOwnDigest = (key: KeyObject) => {
    const digest = curveDigests[key.asymmetricKeyDetails?.namedCurve ?? ''];
    if (digest === undefined && key.asymmetricKeyType !== 'ed25519') return false;
    return crypto.verify(signed, key, signature.signature, digest);
  };
  return {
    ...entity,
    signature: {
      signature: signature.signature,
      compareSignature: (other) => signature.compareSignature(other),
      compareDigest: (digest) => signature.compareDigest(digest),
      compareSignedDigest: (digest) => signature.compareSignedDigest(digest),
      verifySignature: (key) => signature.verifySignature(key) || isByOwnDigest(key),
    },
  };
}

function signedBytesOf({ content }: Bundle, payload: Buffer): Buffer {
  if (content.$case === 'messageSignature') return payload;
  return dsse.preAuthEncoding(content.dsseEnvelope.payloadType, content.dsseEnvelope.payload);
}
