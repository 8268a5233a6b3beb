import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate } from 'node:tls';
import { readRegularFile } from '../../../core/files.ts';
import {
  parseCertificate,
  pemCertificatesIn,
  readSystemRoots,
  type RootBundle,
} from '../../../core/certificateAuthorities.ts';
import { writeWithoutSync } from '../files/durableFiles.ts';

/**
 * The root certificates that the system trusts (spec §15). OpenSSL takes a tenth of a tick to parse all of the more
 * than hundred, of which one is needed: so roots that vouched before are remembered, and can be used alone.
 */
export interface SystemRoots {
  /**
   * All roots of the system. Throws the error of a bundle that exists but cannot be read, and does not fall back to
   * another.
   */
  all: () => RootBundle;
  /** The remembered roots that are still in `all`, null when there are none. Throws as `all` does. */
  remembered: () => RootBundle | null;
  /** Remembers the roots of `all` that vouched for a verified certificate; a write error is ignored. */
  remember: (leaf: DetailedPeerCertificate) => void;
}

interface RootsOptions {
  bundlePaths?: readonly string[];
  /** Called once with a warning about certificates that cannot be parsed. */
  warn?: (line: string) => void;
}

/** The system's roots, from their usual path; remembered in `file`, or not at all when it is null. */
export function openSystemRoots(file: string | null, { bundlePaths, warn }: RootsOptions = {}): SystemRoots {
  const all = () => readSystemRoots(bundlePaths);
  const remembered = (trusted: string[]) =>
    file === null ? [] : readRemembered(file).filter((pem) => trusted.includes(pem));
  let hasWarned = false;
  const remember = (leaf: DetailedPeerCertificate, target: string) => {
    const { path, pem } = all();
    const trusted = pemCertificatesIn(pem);
    const roots = trusted.flatMap((text) => parseRoot(text) ?? []);
    if (roots.length < trusted.length && !hasWarned) {
      hasWarned = true;
      const unreadable = `${trusted.length - roots.length} of the ${trusted.length} certificates in ${path}`;
      warn?.(
        `${unreadable} cannot be read and count for nothing: make it anew (update-ca-certificates, update-ca-trust)`,
      );
    }
    const updated = new Set([...remembered(trusted), ...issuersOf(leaf, roots)]);
    void writeWithoutSync(target, `${[...updated].slice(-maxRemembered).join('\n')}\n`, 0o600).catch(() => undefined);
  };
  return {
    all,
    remembered: () => {
      const { path, pem } = all();
      const usable = remembered(pemCertificatesIn(pem));
      return usable.length === 0 ? null : { path, pem: usable.join('\n') };
    },
    remember: (leaf) => {
      try {
        if (file !== null) remember(leaf, file);
      } catch {
        // called during a handshake, where an error would end the process
      }
    },
  };
}

/** Number of certificates; enough for the two services and storage hosts. The newest are kept. */
const maxRemembered = 8;

function readRemembered(file: string): string[] {
  try {
    return pemCertificatesIn(readRegularFile(file).toString('latin1'));
  } catch {
    return [];
  }
}

interface Root {
  text: string;
  certificate: X509Certificate;
}

function parseRoot(text: string): Root | null {
  const certificate = parseCertificate(text);
  return certificate && { text, certificate };
}

/**
 * The trusted roots that issued a certificate of the chain. Node reports the chain as sent, completed to its end, not
 * the verified one: a root that was sent cross-signed is matched by its signature.
 */
function issuersOf(leaf: DetailedPeerCertificate, roots: Root[]): string[] {
  const chain = chainOf(leaf).map(({ raw }) => new X509Certificate(raw));
  const vouching = roots.filter(({ certificate: root }) =>
    chain.some((each) => each.checkIssued(root) && each.verify(root.publicKey)),
  );
  return vouching.map(({ text }) => text);
}

/** The chain from the leaf on, until the issuer is unknown or the certificate itself. */
function chainOf(leaf: DetailedPeerCertificate): DetailedPeerCertificate[] {
  const { issuerCertificate: issuer } = leaf as Partial<DetailedPeerCertificate>;
  return issuer === undefined || issuer === leaf ? [leaf] : [leaf, ...chainOf(issuer)];
}
