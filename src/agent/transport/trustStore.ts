import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, SecureContext } from 'node:tls';
import { failedFault } from '../../../machines/fault.ts';
import {
  createTlsContext,
  parseAuthorities,
  parseCertificate,
  pemCertificatesIn,
  readSystemRoots,
  type RootBundle,
} from '../../core/certificateAuthorities.ts';
import { monotonicMs } from '../../core/clock.ts';
import { readRegularFile } from '../../core/files.ts';
import type { PeerTrust } from '../../core/connector.ts';
import type { Settings } from '../config/configKeys.ts';
import { writeWithoutSync } from '../state/durableFiles.ts';
import { type Peer, peerNames } from './classifyError.rules.ts';

/** The trusted certificates of connections to a peer. */
export interface Trust extends PeerTrust {
  /** Only the remembered roots are in the context; more roots are trusted. */
  readonly isPartial?: true;
}

/** The trust for each of the two peers. */
export interface TrustStore {
  /**
   * The trust for a peer by the current CA files. Peers with the same CA share one object, for at most an hour.
   * Creating a TLS context takes longer than a handshake, and new contexts for every tick would accumulate faster than
   * they are freed. Throws `TLS_UNTRUSTED`.
   */
  of: (peer: Peer) => Trust;
  /** From now on use all of the system's roots at once. */
  useAllRoots: () => void;
}

const maxAgeMs = 3_600_000;

/** A trust store by the CA files of the settings, otherwise by the system's roots. */
export function createTrustStore(settings: Settings, roots: SystemRoots, now = monotonicMs): TrustStore {
  const latest = new Map<Peer, CachedTrust>();
  let usesAllRoots = false;
  const systemBundle = (): CaBundle => {
    const remembered = usesAllRoots ? null : roots.remembered();
    return remembered === null ? { ...roots.all(), onVerified: roots.remember } : { ...remembered, isPartial: true };
  };
  const trustIn = (ca: CaBundle): CachedTrust => {
    const isCurrent = (trust: CachedTrust) => isSameCa(trust, ca) && now() - trust.madeAtMs < maxAgeMs;
    return [...latest.values()].find(isCurrent) ?? { ...ca, context: contextFor(ca), madeAtMs: now() };
  };
  return {
    of: (peer) => {
      const trust = withCaFile(settings, peer, (ca) => trustIn(ca ?? systemBundle()));
      latest.set(peer, trust);
      return trust;
    },
    useAllRoots: () => {
      usesAllRoots = true;
    },
  };
}

/** Trusted certificates in PEM, from which a TLS context is created. */
interface CaBundle extends Omit<Trust, 'context'> {
  readonly path: string;
  readonly pem: string;
}

type CachedTrust = CaBundle & Trust & { readonly madeAtMs: number };

function isSameCa(one: CaBundle, other: CaBundle): boolean {
  return one.pem === other.pem && one.isPartial === other.isPartial && one.onVerified === other.onVerified;
}

function contextFor({ path, pem }: CaBundle): SecureContext {
  const authorities = parseAuthorities(pem);
  if (authorities === null) throw Object.assign(new Error('no authority'), { path, code: NO_CERTIFICATE });
  return createTlsContext(authorities);
}

/** Used instead of the error code of a file. */
const NO_CERTIFICATE = 'no certificate in it';

/** Runs `work` with the peer's CA file, null when none is configured. An unusable CA is TLS_UNTRUSTED. */
function withCaFile<T>(settings: Settings, peer: Peer, work: (ca: CaBundle | null) => T): T {
  const key = peer === 'tenancy' ? 'tenancy_ca' : 'secretstore_ca';
  const caFile = settings[key];
  try {
    return work(caFile === null ? null : { path: caFile, pem: readRegularFile(caFile).toString('latin1') });
  } catch (error) {
    const { code = 'unreadable', path = 'the roots' } = error as NodeJS.ErrnoException;
    const subject = caFile === null ? `${path} of the system` : `${key} ${caFile}`;
    const remedy =
      caFile === null
        ? `create it again (update-ca-certificates, update-ca-trust), or set ${key}`
        : 'store the certificate authority of the service there, in PEM';
    throw failedFault('TLS_UNTRUSTED', `${peerNames[peer]}: ${subject} cannot be used (${code}): ${remedy}`);
  }
}

/**
 * The root certificates that the system trusts (spec §15). OpenSSL needs a tenth of a tick to parse all of them, more
 * than a hundred, of which one is needed. Therefore roots that vouched before are remembered, and can be used alone.
 */
export interface SystemRoots {
  /**
   * All roots of the system. Throws the error of a bundle that exists but cannot be read, and does not fall back to
   * another.
   */
  all: () => RootBundle;
  /** The remembered roots that are still in `all`; null if there are none. Throws the same errors as `all`. */
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
        `${unreadable} cannot be read and are ignored: create the file again (update-ca-certificates, update-ca-trust)`,
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
