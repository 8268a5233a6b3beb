import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates, type DetailedPeerCertificate } from 'node:tls';
import { writeLazily } from '../files.ts';

/**
 * The certificates that the system trusts (spec §15). OpenSSL reads every one that it is given, a tenth of a tick for the hundred
 * and more, of which one vouches: so those that did before are remembered and can be asked for alone.
 */
export interface Roots {
  /** What the system trusts now, in PEM. */
  all: () => string;
  /** Those of them that are remembered, null when there is none. */
  proven: () => string | null;
  /** Remembers those of `all` that vouched for a good certificate. Nothing happens where they cannot be kept. */
  note: (leaf: DetailedPeerCertificate) => void;
}

/** The system's roots, from their usual place; what vouched is remembered in `file`, and not at all without one. */
export function systemRoots(file: string | null, bundles: readonly string[] = usualBundles): Roots {
  const all = () => bundles.map(textOf).find((text) => text !== null) ?? rootCertificates.join('\n');
  const remembered = (trusted: string[]) => {
    const kept = certificatesIn((file === null ? null : textOf(file)) ?? '');
    return kept.filter((pem) => trusted.includes(pem));
  };
  return {
    all,
    proven: () => remembered(certificatesIn(all())).join('\n') || null,
    note: (leaf) => {
      if (file === null) return;
      const trusted = certificatesIn(all());
      const noted = new Set([...remembered(trusted), ...vouchersFor(leaf, trusted)]);
      void writeLazily(file, `${[...noted].slice(-most).join('\n')}\n`, 0o600).catch(() => undefined);
    },
  };
}

/** Debian's bundle, then that of the rpm family; Node's own search for them can be bent by environment variables. */
const usualBundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];

/** Certificates. The two services and whoever serves bundles need no more; the newest stay. */
const most = 8;

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}

function certificatesIn(text: string): string[] {
  return text.match(/^-----BEGIN CERTIFICATE-----$[^-]+^-----END CERTIFICATE-----$/gm) ?? [];
}

/**
 * Whatever is trusted and issued one of the chain. Node tells the chain that was sent, with what is missing to its end, and not
 * the one that was believed: a root that came signed by another is in it by that signature.
 */
function vouchersFor(leaf: DetailedPeerCertificate, trusted: string[]): string[] {
  const chain = chainOf(leaf).map(({ raw }) => new X509Certificate(raw));
  return trusted.filter((pem) => {
    const root = new X509Certificate(pem);
    return chain.some((each) => each.checkIssued(root) && each.verify(root.publicKey));
  });
}

/** From the leaf on, as long as an issuer is known that is another one. */
function chainOf(leaf: DetailedPeerCertificate): DetailedPeerCertificate[] {
  const { issuerCertificate: issuer } = leaf as Partial<DetailedPeerCertificate>;
  return issuer === undefined || issuer === leaf ? [leaf] : [leaf, ...chainOf(issuer)];
}
