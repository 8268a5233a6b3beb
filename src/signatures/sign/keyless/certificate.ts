import { X509Certificate } from '@sigstore/core';
import type { TrustedIdentity } from '../../../protocol/trustSettings.ts';
import { SignatureFault } from '../../signatureFault.ts';

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
  const certificate = parse(pem);
  const identity = certificate && identityOf(certificate);
  if (!identity) throw new SignatureFault('what the certificate authority answered is no certificate for an identity');
  if (!certificate.publicKey.equals(publicKey)) throw new SignatureFault('the certificate is for another key');
  return { rawBytes: certificate.root.toDER().toString('base64'), identity };
}

function parse(pem: string): X509Certificate | null {
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
