import { generateKeyPairSync, sign } from 'node:crypto';
import { RFC3161Timestamp } from '@sigstore/core';
import type { TrustedIdentity } from '../../../protocol/trustSettings.ts';
import { bundleMediaType } from '../../formats.ts';
import { readSignature } from '../../readSignature.ts';
import { SignatureFault } from '../../signatureFault.ts';
import type { Statement } from '../../statement.ts';
import { verifySignatures } from '../../verifySignatures.ts';
import { signEnvelope, type Envelope } from '../envelope.ts';
import type { NewSignature } from '../signBundle.ts';
import { readCertificate } from './certificate.ts';
import { certificateRequest } from './certificateRequest.ts';
import { timestampQuery } from './timestampQuery.ts';

/** The services of a Sigstore instance, for one signature. */
export interface SigstoreServices {
  /** The certificate for the key of a request (PKCS#10), both in PEM. */
  certify: (request: string) => Promise<string>;
  /** The log's entry of what was signed with the key of a certificate, as a Sigstore bundle has it. */
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
    throw new SignatureFault('what the timestamp authority answered is no timestamp of the signature');
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
  if (fault !== undefined) throw new SignatureFault(`no host would believe it: ${fault}`);
}
