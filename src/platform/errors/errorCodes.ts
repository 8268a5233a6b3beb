/** The certificate, the protocol, the network, or the program itself (`bug`) is at fault. */
export type ErrorClass = 'untrusted' | 'protocol' | 'temporary' | 'bug';

/** The class of an error code of a call. */
export function errorClassOf(code: string): ErrorClass {
  if (isUntrusted(code)) return 'untrusted';
  if (protocolError.test(code)) return 'protocol';
  return code in errorMeanings || errnoCode.test(code) || code.startsWith('ERR_SSL_') ? 'temporary' : 'bug';
}

/** An error code as text for the journal. */
export function describeErrorCode(code: string): string {
  if (isNameMismatch(code)) return `certificate is for another name (${code})`;
  if (isUntrusted(code)) return `certificate is not trusted (${code})`;
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `TLS handshake failed (${code})`;
  if (code.startsWith('HPE_') && !(code in errorMeanings)) return `the answer is not HTTP (${code})`;
  return errorMeanings[code] ?? `connection failed (${code})`;
}

/** True for a code that rejects the peer's certificate. */
export function isUntrusted(code: string): boolean {
  return isNameMismatch(code) || verificationErrors.has(code) || weakCertificate.test(code);
}

function isNameMismatch(code: string): boolean {
  return code.startsWith('ERR_TLS_CERT_ALTNAME') || code === 'HOSTNAME_MISMATCH';
}

/** The peer responds, but a retry would fail as well. */
const protocolError =
  /^(TOO_LARGE|HPE_(?!INVALID_EOF_STATE)\w+|ERR_SSL_(UNSUPPORTED_PROTOCOL|\w+_ALERT_(PROTOCOL_VERSION|CERTIFICATE_REQUIRED)))$/;
const weakCertificate = /^ERR_SSL_(\w+_KEY_TOO_SMALL|CA_MD_TOO_WEAK|CERTIFICATE_VERIFY_FAILED)$/;
const errnoCode = /^E(?!RR_)[A-Z0-9_]+$/;

const errorMeanings: Record<string, string> = {
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name lookup failed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ECONNABORTED: 'connection cut off',
  EPIPE: 'connection cut off',
  ERR_STREAM_PREMATURE_CLOSE: 'connection cut off',
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: 'connection cut off',
  HPE_INVALID_EOF_STATE: 'connection cut off',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENETDOWN: 'network is down',
  ETIMEDOUT: 'connection timed out',
  TIMEOUT: 'no complete answer in time',
  STALLED: 'no more bytes came',
  TOO_LARGE: 'the answer is too large',
};

/** OpenSSL's certificate verification results, by Node's names. */
const verificationErrors = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'CERT_SIGNATURE_FAILURE',
  'CRL_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  'OUT_OF_MEM',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'INVALID_CA',
  'INVALID_NON_CA',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_PURPOSE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'HOSTNAME_MISMATCH',
  'UNSPECIFIED',
]);
