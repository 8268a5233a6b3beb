import { statSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  type DetailedPeerCertificate,
  rootCertificates,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import { isUntrusted } from './errors.rules.ts';
import { readRegularFile } from './files.ts';
import {
  explainUntrusted,
  type PastTime,
  type ShownCertificate,
  type ShownChain,
  type Untrusted,
} from './untrusted.rules.ts';

declare const validated: unique symbol;

/** PEM certificates for TLS to trust (spec §15); at least one of them can be parsed. */
export type Authorities = string[] & { readonly [validated]: true };

/**
 * The certificates in a text; null when none can be parsed. Given an empty list, TLS would trust the public roots of
 * the runtime.
 */
export function parseAuthorities(text: string): Authorities | null {
  const found = pemCertificatesIn(text);
  return found.some((pem) => parseCertificate(pem) !== null) ? (found as Authorities) : null;
}

/** The PEM blocks of a text. Split here, because OpenSSL stops reading a text at its first bad block. */
export function pemCertificatesIn(text: string): string[] {
  return text.match(/^-----BEGIN CERTIFICATE-----[^-]+^-----END CERTIFICATE-----/gm) ?? [];
}

/** Null when it cannot be parsed. */
export function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** The only place that creates a TLS context, so nothing is trusted by default. TLS 1.2 or newer. */
export function createTlsContext(
  ca: Authorities,
  options: Omit<SecureContextOptions, 'ca' | 'minVersion'> = {},
): SecureContext {
  return createSecureContext({ ...options, ca, minVersion: 'TLSv1.2' });
}

const MAX_BYTES = 4_194_304;

/** The authorities in a PEM file; without a file those that the system trusts. Throws an error that names the file. */
export function readAuthorities(file: string | null): Authorities {
  const bundle = file === null ? readSystemRoots() : { path: file, pem: read(file) };
  const authorities = parseAuthorities(bundle.pem);
  if (authorities === null) throw new Error(`${bundle.path} has no certificate in PEM`);
  return authorities;
}

function read(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES).toString('latin1');
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, { cause: error });
  }
}

/** Certificates in PEM, and the file that contains them. */
export interface RootBundle {
  readonly path: string;
  readonly pem: string;
}

/** Debian's bundle, then the bundles of the rpm family and of macOS. Node's own search depends on environment variables. */
const systemBundlePaths = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
];

/**
 * The root certificates that the system trusts (spec §15): the first bundle that exists, otherwise the bundle of the
 * runtime. Throws the error of a bundle that exists but cannot be read, with its `path`.
 */
export function readSystemRoots(paths: readonly string[] = systemBundlePaths): RootBundle {
  for (const path of paths) {
    try {
      return { path, pem: readRegularFile(path).toString('latin1') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw Object.assign(error as Error, { path });
    }
  }
  return { path: 'no bundle', pem: rootCertificates.join('\n') };
}

/** The certificate chains of servers that were refused, by the error of the connection. */
const shownChains = new WeakMap<object, ShownChain>();

/** Keeps what the server shows, called by `host`, for the error of a refused certificate. Call it when the socket is made. */
export function keepShownChain(socket: TLSSocket, host: string): void {
  // before Node's own listener, which verifies the certificate and destroys a socket that fails
  socket.prependOnceListener('secure', () => {
    const chain = { host, certificates: certificatesOf(socket) };
    socket.prependOnceListener('error', (error) => shownChains.set(error, chain));
  });
}

/** More is not read: a server may send a chain of any length. */
const MAX_CERTIFICATES = 10;

function certificatesOf(socket: TLSSocket): ShownCertificate[] {
  const found: ShownCertificate[] = [];
  let next = socket.getPeerCertificate(true) as Partial<DetailedPeerCertificate> | undefined;
  while (next?.raw !== undefined && found.length < MAX_CERTIFICATES) {
    found.push({
      ...{ subject: distinguishedName(next.subject), issuer: distinguishedName(next.issuer) },
      names: (next.subjectaltname ?? '').split(', ').flatMap((name) => name.replace(/^[^:]*:/, '') || []),
      validFrom: new Date(next.valid_from ?? NaN),
      validTo: new Date(next.valid_to ?? NaN),
    });
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return found;
}

function distinguishedName(name: object | undefined): string {
  const { CN, O, OU } = { ...name } as Record<string, string | string[] | undefined>;
  return [CN ?? O ?? OU ?? ''].flat().join(' ');
}

/** Files of this host that show that a time has passed. */
export interface ClockFiles {
  /** Files that the program writes. */
  written?: readonly string[];
  /** PEM files of trusted authorities, which count from the beginning of their validity. */
  authorities?: readonly (string | null)[];
}

/** The program itself, and where systemd and the package manager leave the time. */
const systemFiles = [process.argv[1] ?? '', '/var/lib/systemd/timesync/clock', '/var/log/dpkg.log'];

/** Times that have passed, by the files of this host. */
export function pastTimes({ written = [], authorities = [] }: ClockFiles = {}): PastTime[] {
  const files = [...systemFiles, ...written].flatMap((path): PastTime[] => {
    const at = modifiedAt(path);
    return at === null ? [] : [{ what: path, at }];
  });
  const valid = authorities.flatMap((path): PastTime[] =>
    path === null ? [] : validitiesIn(path).map((at) => ({ what: `an authority in ${path}`, at })),
  );
  return [...files, ...valid];
}

/** When a file was last changed; null for a file that is missing or not readable for this user. */
function modifiedAt(path: string): Date | null {
  try {
    return statSync(path).mtime;
  } catch {
    return null;
  }
}

/** Since when each certificate of a PEM file is valid. */
function validitiesIn(path: string): Date[] {
  try {
    const pem = readRegularFile(path).toString('latin1');
    return pemCertificatesIn(pem)
      .flatMap((text) => parseCertificate(text) ?? [])
      .map(({ validFrom }) => new Date(validFrom));
  } catch {
    return [];
  }
}

/** Why an error of a connection refuses the server's certificate; null for any other error. */
export function untrustedOf(error: unknown, files?: ClockFiles): Untrusted | null {
  const { code, cause } = asFields(error);
  if (typeof code !== 'string' || !isUntrusted(code)) return null;
  const chain =
    [error, cause].map((each) => shownChains.get(asFields(each))).find((found) => found !== undefined) ?? null;
  return explainUntrusted(code, chain, { now: new Date(), pastTimes: pastTimes(files) });
}

/** The fields of any value that was thrown. */
function asFields(thrown: unknown): { code?: unknown; cause?: unknown } {
  return typeof thrown === 'object' && thrown !== null ? thrown : {};
}
