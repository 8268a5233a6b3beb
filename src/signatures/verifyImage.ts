import { createHash, X509Certificate } from 'node:crypto';
import { type Bundle, bundleFromJSON } from '@sigstore/bundle';
import type { ImageSignature, SimpleSignature } from './formats.ts';
import { SignatureFault } from './judgement.rules.ts';
import { formatSchemaErrors, parseStrictly, readSignature, statementJsonIn } from './readSignature.ts';
import { validateImageStatement, validateLogEntry, validatePayload } from './signatureValidators.ts';
import type { BundleTrust } from './trust.ts';
import { openVerifier, reasonOf, type SignatureVerifier } from './verifySignatures.ts';

/** The signers of an image, each once and sorted, and why each of the other signatures is not accepted. */
export interface ImageVerification {
  signers: string[];
  faults: string[];
}

/** The image that signatures must be of. */
export interface SignedImage {
  /** `sha256:…` */
  digest: string;
  /** Why the repository that a signature names is not the one that it must name; null if it is. */
  nameFault: (reference: string) => string | null;
}

/** Verifies signatures of an image, offline (spec §18). */
export function verifyImage(
  trust: BundleTrust,
  image: SignedImage,
  signatures: readonly ImageSignature[],
): ImageVerification {
  const verifier = openVerifier(trust);
  if (typeof verifier === 'string') return { signers: [], faults: [verifier] };
  const [signers, faults] = [new Set<string>(), new Array<string>()];
  for (const [index, signature] of signatures.entries()) {
    try {
      signers.add(
        'bundle' in signature ? ofBundle(signature.bundle, image, verifier) : ofSimple(signature, image, verifier),
      );
    } catch (error) {
      faults.push(`signature ${index + 1}: ${reasonOf(error)}`);
    }
  }
  return { signers: [...signers].sort(), faults };
}

/** cosign 3 names no repository in its statement, so only the digest says what it is about. */
function ofBundle(bundle: Buffer, image: SignedImage, verifier: SignatureVerifier): string {
  const signature = readSignature(parseStrictly(bundle.toString('utf8'), 'its Sigstore bundle'));
  const statement = statementJsonIn(signature);
  if (!validateImageStatement(statement))
    throw new SignatureFault(`its statement is not one about an image: ${formatSchemaErrors(validateImageStatement)}`);
  const { digest, name = '' } = statement.subject[0];
  requireImage({ digest: `sha256:${digest.sha256}`, name: name === '' ? null : name }, image);
  return verifier.signerOf(signature);
}

/** Such a signature does not name its key: each that is trusted is tried. */
function ofSimple(signature: SimpleSignature, image: SignedImage, verifier: SignatureVerifier): string {
  requireImage(imageSigned(signature.payload), image);
  const { certificate } = readAnnotations(signature);
  if (certificate !== null) return verifier.signerOf(bundleOf(signature, ''), signature.payload);
  for (const hint of verifier.keys.keys()) {
    const signer = signerOrNull(() => verifier.signerOf(bundleOf(signature, hint), signature.payload));
    if (signer !== null) return signer;
  }
  throw new SignatureFault('it is by no key that is trusted');
}

function requireImage(signed: NamedImage, { digest, nameFault }: SignedImage): void {
  if (signed.digest !== digest) throw new SignatureFault(`it is of another image (${signed.digest})`);
  const fault = signed.name === null ? null : nameFault(signed.name);
  if (fault !== null) throw new SignatureFault(fault);
}

/** Null when the signature is not by the key that was tried; other faults are thrown. */
function signerOrNull(verify: () => string): string | null {
  try {
    return verify();
  } catch (error) {
    if ((error as { code?: string }).code === 'SIGNATURE_ERROR') return null;
    throw error;
  }
}

/** The image that a signature is about: its digest (`sha256:…`), and the repository that it names. */
interface NamedImage {
  digest: string;
  name: string | null;
}

/** The image that a payload is about. Throws `SignatureFault`. */
export function imageSigned(payload: Buffer): NamedImage {
  const json = parseStrictly(payload.toString('utf8'), 'its payload');
  if (!validatePayload(json))
    throw new SignatureFault(`its payload is not one about an image: ${formatSchemaErrors(validatePayload)}`);
  const { identity, image } = json.critical;
  return { digest: image['docker-manifest-digest'], name: identity['docker-reference'] };
}

/** The signature itself, and the certificate of its signer in DER; null for the signature of a key. Throws `SignatureFault`. */
export function readAnnotations({ annotations }: SimpleSignature): { signature: Buffer; certificate: Buffer | null } {
  const signature = textOf(annotations, 'dev.cosignproject.cosign/signature');
  if (signature === null) throw new SignatureFault('it has no annotation with a signature');
  const certificate = textOf(annotations, 'dev.sigstore.cosign/certificate');
  return {
    signature: decoded(signature, 'its signature'),
    certificate: certificate === null || certificate === '' ? null : certificateOf(certificate),
  };
}

/**
 * The same as a Sigstore bundle, which the library verifies: `hint` names the key of a signature without a certificate.
 * The chain beside a certificate is not looked at: the trust root has the authorities. Throws `SignatureFault`.
 */
export function bundleOf(signed: SimpleSignature, hint: string): Bundle {
  const { payload, annotations } = signed;
  const { signature, certificate } = readAnnotations(signed);
  const content =
    certificate === null
      ? { publicKey: { hint } }
      : { x509CertificateChain: { certificates: [{ rawBytes: certificate.toString('base64') }] } };
  return bundleFromJSON({
    mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1',
    verificationMaterial: {
      ...content,
      tlogEntries: logEntriesOf(annotations),
      timestampVerificationData: { rfc3161Timestamps: timestampsOf(annotations) },
    },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(payload).digest('base64') },
      signature: signature.toString('base64'),
    },
  });
}

function textOf(annotations: SimpleSignature['annotations'], name: string): string | null {
  const value = Object.hasOwn(annotations, name) ? annotations[name] : null;
  if (value !== null && typeof value !== 'string') throw new SignatureFault(`its annotation ${name} is not text`);
  return value;
}

function certificateOf(pem: string): Buffer {
  if (pem.split('-----BEGIN').length !== 2) throw new SignatureFault('its certificate is not one in PEM');
  try {
    return new X509Certificate(pem).raw;
  } catch {
    throw new SignatureFault('its certificate is damaged');
  }
}

function logEntriesOf(annotations: SimpleSignature['annotations']): object[] {
  const text = textOf(annotations, 'dev.sigstore.cosign/bundle');
  if (text === null) return [];
  const json = parseStrictly(text, 'its log entry');
  if (!validateLogEntry(json))
    throw new SignatureFault(`its log entry is malformed: ${formatSchemaErrors(validateLogEntry)}`);
  const { SignedEntryTimestamp: promise, Payload } = json;
  const { body, integratedTime, logIndex, logID } = Payload;
  const { kind, apiVersion } = Object(
    parseStrictly(decoded(body, 'its log entry').toString('utf8'), 'its log entry'),
  ) as { kind?: unknown; apiVersion?: unknown };
  return [
    {
      logIndex: String(logIndex),
      logId: { keyId: Buffer.from(logID, 'hex').toString('base64') },
      kindVersion: { kind: String(kind), version: String(apiVersion) },
      integratedTime: String(integratedTime),
      inclusionPromise: { signedEntryTimestamp: decoded(promise, 'the promise of its log').toString('base64') },
      canonicalizedBody: body,
    },
  ];
}

function timestampsOf(annotations: SimpleSignature['annotations']): object[] {
  const text = textOf(annotations, 'dev.sigstore.cosign/rfc3161timestamp');
  if (text === null) return [];
  const { SignedRFC3161Timestamp: timestamp } = Object(parseStrictly(text, 'its timestamp')) as Record<string, unknown>;
  if (typeof timestamp !== 'string') throw new SignatureFault('its timestamp is malformed');
  return [{ signedTimestamp: decoded(timestamp, 'its timestamp').toString('base64') }];
}

/** Bytes of base64, in the one spelling that stands for them. */
function decoded(base64: string, what: string): Buffer {
  const bytes = Buffer.from(base64, 'base64');
  if (base64 === '' || bytes.toString('base64') !== base64) throw new SignatureFault(`${what} is not base64`);
  return bytes;
}
