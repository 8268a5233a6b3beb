import type { Bundle } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { toSignedEntity, toTrustMaterial, Verifier, type SignedEntity, type TrustMaterial } from '@sigstore/verify';
import { printable } from '../protocol/printable.ts';
import type { BundleClaim, BundleTrust } from './bundleTrust.ts';
import { keyName, readPublicKey, type PublicKey } from './publicKey.ts';
import { readSignature } from './readSignature.ts';
import { SignatureFault } from './signatureFault.ts';
import { signedEntityOf } from './signedEntity.ts';
import { statementIn } from './statement.ts';

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

/**
 * Verifies signatures of the archive with this sha256 (hex), offline (spec §18). Keys need no log entry. Identities need one, a
 * certificate that its authority logged (SCT), and a verified time.
 */
export function verifySignatures(trust: BundleTrust, sha256: string, signatures: readonly unknown[]): Verification {
  const root = rootOf(trust);
  if (root === 'damaged') return { verified: [], faults: ['the trust root is damaged'] };
  const context: Context = { trust, sha256, keys: keysOf(trust), root };
  const [verified, faults]: [VerifiedSignature[], string[]] = [[], []];
  for (const [index, signature] of signatures.entries()) {
    try {
      verified.push(verify(signature, context));
    } catch (error) {
      faults.push(`signature ${index + 1}: ${reasonOf(error)}`);
    }
  }
  return { verified, faults };
}

interface Context {
  trust: BundleTrust;
  sha256: string;
  keys: ReadonlyMap<string, PublicKey>;
  root: TrustedRoot | null;
}

const emptyRoot: TrustedRoot = {
  mediaType: '',
  tlogs: [],
  certificateAuthorities: [],
  ctlogs: [],
  timestampAuthorities: [],
};

function keysOf({ keys }: BundleTrust): ReadonlyMap<string, PublicKey> {
  const usable = keys.map(readPublicKey).filter((key) => typeof key !== 'string');
  return new Map(usable.map((key) => [key.hint, key]));
}

function rootOf({ root }: BundleTrust): TrustedRoot | 'damaged' | null {
  if (root === null) return null;
  try {
    return TrustedRoot.fromJSON(JSON.parse(root));
  } catch {
    return 'damaged';
  }
}

function verify(json: unknown, context: Context): VerifiedSignature {
  const signature = readSignature(json);
  const statement = statementIn(signature);
  if (statement.sha256 !== context.sha256) throw new SignatureFault(`it is of another archive (${statement.sha256})`);
  const { content } = signature.verificationMaterial;
  const signer =
    content.$case === 'publicKey'
      ? verifyByKey(signature, content.publicKey.hint, context)
      : verifyByCertificate(signature, context);
  return { signer, claim: statement.claim };
}

/** What a log says of a key's signature counts only where a root tells which logs to believe. */
function verifyByKey(signature: Bundle, hint: string, { keys, root }: Context): string {
  const trusted = keys.get(hint);
  if (trusted === undefined) throw new SignatureFault(`it is by ${printable(keyName(hint))}, which is not trusted`);
  const entity = signedEntityOf(signature);
  const judged: SignedEntity = root === null ? { ...entity, tlogEntries: [], timestamps: [] } : entity;
  const findKey = () => ({ publicKey: trusted.key, validFor: () => true });
  const thresholds = { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 };
  new Verifier(materialOf(root, findKey), thresholds).verify(judged);
  return keyName(hint);
}

function verifyByCertificate(signature: Bundle, { trust, root }: Context): string {
  if (root === null || trust.identities.length === 0)
    throw new SignatureFault('it is by the holder of a certificate, and no identity is trusted');
  const thresholds = { ctlogThreshold: 1, tlogThreshold: 1, timestampThreshold: 1 };
  const { identity } = new Verifier(materialOf(root), thresholds).verify(toSignedEntity(signature));
  const [subject, issuer] = [identity?.subjectAlternativeName ?? '', identity?.extensions?.issuer ?? ''];
  if (!trust.identities.some((trusted) => trusted.subject === subject && trusted.issuer === issuer))
    throw new SignatureFault(`it is by ${printable(subject)} (${printable(issuer)}), who is not trusted`);
  return `${subject} (${issuer})`;
}

function materialOf(root: TrustedRoot | null, findKey?: TrustMaterial['publicKey']): TrustMaterial {
  return toTrustMaterial(root ?? emptyRoot, findKey);
}

/** What the library throws has a code; anything else it could throw is a fault of the signature, too: it is never accepted. */
function reasonOf(error: unknown): string {
  if (error instanceof SignatureFault) return error.message;
  const { code, message } = error as { code?: string; message: string };
  return `${code ?? 'malformed'}: ${printable(message)}`;
}
