import type { Bundle } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { toTrustMaterial, Verifier, type SignedEntity, type TrustMaterial } from '@sigstore/verify';
import { printable } from '../protocol/printable.ts';
import type { BundleTrust } from './bundleTrust.ts';
import { keyName, readPublicKey, type PublicKey } from './publicKey.ts';
import { SignatureFault } from './signatureFault.ts';
import { signedEntityOf } from './signedEntity.ts';

/** Verifies signatures by the keys, the identities and the root of a trust, offline (spec §18). */
export interface SignatureVerifier {
  /** The usable keys, by the hint with which a signature names them. */
  keys: ReadonlyMap<string, PublicKey>;
  /**
   * Who made a signature: `key SHA256:…`, or subject and issuer of an identity. Keys need no log entry. Identities need one, a
   * certificate that its authority logged (SCT), and a verified time. `payload` is what a signature without an envelope is of.
   * Throws `SignatureFault`, or an error of the library.
   */
  signerOf: (signature: Bundle, payload?: Buffer) => string;
}

/** A verifier by a trust; null when the trust root is damaged. */
export function openVerifier(trust: BundleTrust): SignatureVerifier | null {
  const root = rootOf(trust);
  if (root === 'damaged') return null;
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

/** What the library throws has a code; anything else it could throw is a fault of the signature, too: it is never accepted. */
export function reasonOf(error: unknown): string {
  if (error instanceof SignatureFault) return error.message;
  const { code, message } = error as { code?: string; message: string };
  return `${code ?? 'malformed'}: ${printable(message)}`;
}

interface Context {
  trust: BundleTrust;
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

/** What a log says of a key's signature counts only where a root tells which logs to believe. */
function verifyByKey(entity: SignedEntity, hint: string, { keys, root }: Context): string {
  const trusted = keys.get(hint);
  if (trusted === undefined) throw new SignatureFault(`it is by ${printable(keyName(hint))}, which is not trusted`);
  const judged: SignedEntity = root === null ? { ...entity, tlogEntries: [], timestamps: [] } : entity;
  const findKey = () => ({ publicKey: trusted.key, validFor: () => true });
  const thresholds = { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 };
  new Verifier(materialOf(root, findKey), thresholds).verify(judged);
  return keyName(hint);
}

function verifyByCertificate(entity: SignedEntity, { trust, root }: Context): string {
  if (root === null || trust.identities.length === 0)
    throw new SignatureFault('it is by the holder of a certificate, and no identity is trusted');
  const thresholds = { ctlogThreshold: 1, tlogThreshold: 1, timestampThreshold: 1 };
  const { identity } = new Verifier(materialOf(root), thresholds).verify(entity);
  const [subject, issuer] = [identity?.subjectAlternativeName ?? '', identity?.extensions?.issuer ?? ''];
  if (!trust.identities.some((trusted) => trusted.subject === subject && trusted.issuer === issuer))
    throw new SignatureFault(`it is by ${printable(subject)} (${printable(issuer)}), who is not trusted`);
  return `${subject} (${issuer})`;
}

function materialOf(root: TrustedRoot | null, findKey?: TrustMaterial['publicKey']): TrustMaterial {
  return toTrustMaterial(root ?? emptyRoot, findKey);
}
