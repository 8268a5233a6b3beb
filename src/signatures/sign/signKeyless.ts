import { generateKeyPairSync, sign } from 'node:crypto';
import { RFC3161Timestamp, X509Certificate } from '@sigstore/core';
import type { TrustedIdentity } from '../../api/trust.rules.ts';
import { bundleMediaType } from '../formats.ts';
import { SignatureFault } from '../judgement.rules.ts';
import { readSignature, type Statement } from '../readSignature.ts';
import { verifySignatures } from '../verifySignatures.ts';
import { type Envelope, type NewSignature, signEnvelope } from './signBundle.ts';
import { certificateRequest, timestampQuery } from './sigstoreForms.ts';

/** The services of a Sigstore instance, for one signature. */
export interface SigstoreServices {
  /** The certificate for the key of a request (PKCS#10), both in PEM. */
  certify: (request: string) => Promise<string>;
  /** The log entry of a signature with the key of a certificate, in the form of a Sigstore bundle. */
  log: (envelope: Envelope, certificate: string) => Promise<unknown>;
  /** The answer to a query of a timestamp (RFC 3161), in DER; null without a timestamp authority. */
  timestamp: ((query: Buffer) => Promise<Buffer>) | null;
}

/**
 * Signs what is stated of a bundle with a new key, for which an identity has a certificate, and has it logged (spec §18). With
 * a trust root (JSON text) the signature is verified as a host would. Throws a `SignatureFault` where it is not accepted.
 */
export async function signKeyless(
  statement: Statement,
  services: SigstoreServices,
  root: string | null,
): Promise<NewSignature> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = await services.certify(certificateRequest(privateKey));
  const { rawBytes, identity } = readCertificate(certificate, publicKey.export({ type: 'spki', format: 'der' }));
  const dsseEnvelope = await signEnvelope(statement, (bytes) => sign('sha256', bytes, privateKey));
  const timestamps = await timestampsOf(dsseEnvelope, services.timestamp);
  const verificationMaterial = {
    certificate: { rawBytes },
    tlogEntries: [await services.log(dsseEnvelope, certificate)],
    ...timestamps,
  };
  const signature = { mediaType: bundleMediaType, verificationMaterial, dsseEnvelope };
  readSignature(signature);
  if (root !== null) verifyAsHost({ signature, statement, identity, root });
  return { signature, signer: `${identity.subject} (${identity.issuer})` };
}

/** The part of a Sigstore bundle with the timestamp of a signature. */
async function timestampsOf(
  { signatures: [{ sig }] }: Envelope,
  timestamp: SigstoreServices['timestamp'],
): Promise<object> {
  if (timestamp === null) return {};
  const signature = Buffer.from(sig, 'base64');
  const answer = await timestamp(timestampQuery(signature));
  try {
    RFC3161Timestamp.parse(Buffer.from(answer)).tstInfo.verify(signature);
  } catch {
    throw new SignatureFault('the response of the timestamp authority is not a timestamp of the signature');
  }
  return { timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp: answer.toString('base64') }] } };
}

interface Signed {
  signature: unknown;
  statement: Statement;
  identity: TrustedIdentity;
  root: string;
}

function verifyAsHost({ signature, statement, identity, root }: Signed): void {
  const trust = { threshold: 1, keys: [], identities: [identity], root };
  const [fault] = verifySignatures(trust, statement.sha256, [signature]).faults;
  if (fault !== undefined) throw new SignatureFault(`hosts would reject it: ${fault}`);
}

/** A certificate for an identity. */
export interface SigningCertificate {
  /** Its DER, in base64. */
  rawBytes: string;
  identity: TrustedIdentity;
}

/** Fulcio's extension with the issuer of the token, in UTF-8. */
const issuerExtension = '1.3.6.1.4.1.57264.1.8';

/** Reads a certificate in PEM for this public key (SPKI in DER). Throws a `SignatureFault` for any other. */
export function readCertificate(pem: string, publicKey: Buffer): SigningCertificate {
  const certificate = parseCertificate(pem);
  const identity = certificate && identityOf(certificate);
  if (!identity)
    throw new SignatureFault('the response of the certificate authority is not a certificate for an identity');
  if (!certificate.publicKey.equals(publicKey)) throw new SignatureFault('the certificate is for another key');
  return { rawBytes: certificate.root.toDER().toString('base64'), identity };
}

function parseCertificate(pem: string): X509Certificate | null {
  try {
    return X509Certificate.parse(pem);
  } catch {
    return null;
  }
}

function identityOf(certificate: X509Certificate): TrustedIdentity | null {
  const subject = certificate.subjectAltName;
  const issuer = certificate.extension(issuerExtension)?.valueObj.subs[0]?.value.toString('utf8');
  return subject && issuer ? { subject, issuer } : null;
}
