import { Fault } from '../../machines/fault.ts';

/** The certificate, the protocol, the network, or the program itself (`bug`) is at fault. */
type ErrorClass = 'untrusted' | 'protocol' | 'temporary' | 'bug';

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

/** An error of the disk, which says nothing about the content stored on it. */
export class DiskFault extends Fault {}

/** The journal line for a filesystem error: `doing` is the verb, `path` its object. A full disk has its own code. */
export function diskFault(doing: 'write' | 'remove' | 'read', path: string, error: unknown): DiskFault {
  const code = errorCodeOf(error) ?? 'unknown error';
  const reason = errorDescriptions[code] ?? code;
  const details = doing === 'read' ? {} : { code: fullCodes.has(code) ? 'DISK_INSUFFICIENT' : 'DISK_WRITE_FAILED' };
  return new DiskFault('failed', `failed: cannot ${doing} ${path}: ${reason}`, details);
}

/** A disk without room, or without room for this user. */
const fullCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** Runs `work`; its error is thrown as the fault of `diskFault`. */
export async function withDiskFault<T>(
  doing: 'write' | 'remove' | 'read',
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskFault(doing, path, error);
  }
}

/** True when the file or directory does not exist. */
export const isENOENT = (error: unknown): boolean => errorCodeOf(error) === 'ENOENT';

/** True when this user lacks permission. */
export const isEACCES = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(errorCodeOf(error) ?? '');

/** True when the path exists already. */
export const isEEXIST = (error: unknown): boolean => errorCodeOf(error) === 'EEXIST';

/** True when the path is not a symbolic link. */
export const isNotALink = (error: unknown): boolean => errorCodeOf(error) === 'EINVAL';

/** True when the path is not a regular file; a directory has its own code, as no file can replace it. */
export const isNotAFile = (error: unknown): boolean => errorCodeOf(error) === 'ENOTREG';

const errorDescriptions: Record<string, string | undefined> = {
  ENOSPC: 'no space left on the filesystem',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the filesystem is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EIO: 'the disk reports an input/output error',
  ENOENT: 'no such file or directory',
  EISDIR: 'it is a directory; move it away',
  ENOTEMPTY: 'it is a directory that is not empty; move it away',
  EEXIST: 'another file has this name; move it away',
  ENOTREG: 'it is not a regular file; move it away',
  EFBIG: 'it is larger than any file that the agent wrote; move it away',
};

function errorCodeOf(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
