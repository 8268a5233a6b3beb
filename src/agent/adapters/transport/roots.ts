import { X509Certificate } from 'node:crypto';
import { rootCertificates, type DetailedPeerCertificate } from 'node:tls';
import { readRegular } from '../../../platform/regularFile.ts';
import { certificateOf, certificatesIn } from '../../../platform/authorities.ts';
import { isENOENT, writeLazily } from '../files/files.ts';

/**
 * The certificates that the system trusts (spec §15). OpenSSL reads every one that it is given, a tenth of a tick for the hundred
 * and more, of which one vouches: so those that did before are remembered and can be asked for alone.
 */
export interface Roots {
  /** What the system trusts now. Throws the error of a bundle that is there and cannot be read: no other stands for it. */
  all: () => Bundle;
  /** Those of them that are remembered, null when there is none. Throws as `all` does. */
  proven: () => Bundle | null;
  /** Remembers those of `all` that vouched for a good certificate. Nothing happens where they cannot be kept. */
  note: (leaf: DetailedPeerCertificate) => void;
}

/** Certificates in PEM, and the file that they stand in. */
export interface Bundle {
  readonly path: string;
  readonly pem: string;
}

interface RootsParts {
  bundles?: readonly string[];
  /** Hears, once and in a line for people, of certificates that count for nothing. */
  tell?: (line: string) => void;
}

/** The system's roots, from their usual place; what vouched is remembered in `file`, and not at all without one. */
export function systemRoots(file: string | null, { bundles = usualBundles, tell }: RootsParts = {}): Roots {
  const all = () => firstOf(bundles) ?? ofRuntime();
  const remembered = (trusted: string[]) => (file === null ? [] : keptIn(file).filter((pem) => trusted.includes(pem)));
  let isTold = false;
  const remember = (leaf: DetailedPeerCertificate, into: string) => {
    const { path, pem } = all();
    const trusted = certificatesIn(pem);
    const roots = trusted.flatMap((text) => rootIn(text) ?? []);
    if (roots.length < trusted.length && !isTold) {
      isTold = true;
      const unreadable = `${trusted.length - roots.length} of the ${trusted.length} certificates in ${path}`;
      tell?.(
        `${unreadable} cannot be read and count for nothing: make it anew (update-ca-certificates, update-ca-trust)`,
      );
    }
    const noted = new Set([...remembered(trusted), ...vouchersFor(leaf, roots)]);
    void writeLazily(into, `${[...noted].slice(-most).join('\n')}\n`, 0o600).catch(() => undefined);
  };
  return {
    all,
    proven: () => {
      const { path, pem } = all();
      const known = remembered(certificatesIn(pem));
      return known.length === 0 ? null : { path, pem: known.join('\n') };
    },
    note: (leaf) => {
      try {
        if (file !== null) remember(leaf, file);
      } catch {
        // it is called in the middle of a handshake, where an error would end the process
      }
    },
  };
}

/** Debian's bundle, then that of the rpm family; Node's own search for them can be bent by environment variables. */
const usualBundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];

/** Where there is no bundle at all. */
const ofRuntime = (): Bundle => ({ path: 'no bundle', pem: rootCertificates.join('\n') });

/** Certificates. The two services and whoever serves bundles need no more; the newest stay. */
const most = 8;

/** Null where there is none. */
function firstOf(paths: readonly string[]): Bundle | null {
  for (const path of paths) {
    try {
      return { path, pem: readRegular(path).toString('latin1') };
    } catch (error) {
      if (!isENOENT(error)) throw Object.assign(error as Error, { path });
    }
  }
  return null;
}

function keptIn(file: string): string[] {
  try {
    return certificatesIn(readRegular(file).toString('latin1'));
  } catch {
    return [];
  }
}

interface Root {
  text: string;
  certificate: X509Certificate;
}

function rootIn(text: string): Root | null {
  const certificate = certificateOf(text);
  return certificate && { text, certificate };
}

/**
 * Whatever is trusted and issued one of the chain. Node tells the chain that was sent, with what is missing to its end, and not
 * the one that was believed: a root that came signed by another is in it by that signature.
 */
function vouchersFor(leaf: DetailedPeerCertificate, roots: Root[]): string[] {
  const chain = chainOf(leaf).map(({ raw }) => new X509Certificate(raw));
  const vouching = roots.filter(({ certificate: root }) =>
    chain.some((each) => each.checkIssued(root) && each.verify(root.publicKey)),
  );
  return vouching.map(({ text }) => text);
}

/** From the leaf on, as long as an issuer is known that is another one. */
function chainOf(leaf: DetailedPeerCertificate): DetailedPeerCertificate[] {
  const { issuerCertificate: issuer } = leaf as Partial<DetailedPeerCertificate>;
  return issuer === undefined || issuer === leaf ? [leaf] : [leaf, ...chainOf(issuer)];
}
