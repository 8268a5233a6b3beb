import type { DetailedPeerCertificate, SecureContext } from 'node:tls';
import { failedFault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { monotonicMs } from '../../../core/clock.ts';
import { type Peer, peerNames } from '../../rules/errors/classifyError.ts';
import { readRegularFile } from '../../../core/files.ts';
import { createTlsContext, parseAuthorities } from '../../../core/certificateAuthorities.ts';
import type { SystemRoots } from './systemRoots.ts';

/** What connections to a peer trust. */
export interface Trust {
  readonly context: SecureContext;
  /** Only the remembered roots are in the context; more roots are trusted. */
  readonly isPartial?: true;
  /** Called with each verified certificate. */
  readonly onVerified?: (leaf: DetailedPeerCertificate) => void;
}

/** The trust for each of the two peers. */
export interface TrustStore {
  /**
   * The trust for a peer by the current CA files. Peers with the same CA share one object, for at most an hour:
   * creating a TLS context takes longer than a handshake, and new contexts for every tick would pile up faster than
   * they are freed. Throws `TLS_UNTRUSTED`.
   */
  of: (peer: Peer) => Trust;
  /** From now on use all of the system's roots at once. */
  useAllRoots: () => void;
}

const maxAgeMs = 3_600_000;

/** A trust store by the CA files of the settings, else by the system's roots. */
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

/** Takes the place of the error code of a file. */
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
        ? `make it anew (update-ca-certificates, update-ca-trust), or set ${key}`
        : 'put the authority that the service is trusted by there, in PEM';
    throw failedFault('TLS_UNTRUSTED', `${peerNames[peer]}: ${subject} cannot be used (${code}): ${remedy}`);
  }
}
