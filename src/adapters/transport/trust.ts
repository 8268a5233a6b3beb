import { readFileSync } from 'node:fs';
import { createSecureContext, type DetailedPeerCertificate, type SecureContext } from 'node:tls';
import { failure } from '../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { clockMs } from '../../journal/clock.ts';
import { type Peer, peerNames } from '../../rules/sorting.ts';
import type { Roots } from './roots.ts';

/** Whom connections trust. */
export interface Trust {
  readonly context: SecureContext;
  /** More than these may be trusted. */
  readonly isPart?: true;
  /** Hears of each certificate that was found good. */
  readonly vouched?: (leaf: DetailedPeerCertificate) => void;
}

/** Whom the two peers are trusted by. */
export interface Trusts {
  /**
   * As the CA files are now. The same object for all whose CA is the same, for an hour at the most: a TLS context takes longer to
   * make than a handshake, and contexts made anew for every tick would pile up faster than they are freed. Throws `TLS_UNTRUSTED`.
   */
  of: (peer: Peer) => Trust;
  /** From now on all of the system's roots are tried at once. */
  takeAllRoots: () => void;
}

const longestMs = 3_600_000;

/** By the CA files that the settings name, else by the roots. */
export function createTrusts(settings: Settings, roots: Roots, now = clockMs): Trusts {
  const latest = new Map<Peer, Known>();
  let takesAllRoots = false;
  const rootsNow = (): Ca => {
    const proven = takesAllRoots ? null : roots.proven();
    return proven === null ? { pem: roots.all(), vouched: roots.note } : { pem: proven, isPart: true };
  };
  const trustIn = (ca: Ca): Known => {
    const isGood = (trust: Known) => isSame(trust, ca) && now() - trust.madeAtMs < longestMs;
    const context = () => createSecureContext({ minVersion: 'TLSv1.2', ca: ca.pem });
    return [...latest.values()].find(isGood) ?? { ...ca, context: context(), madeAtMs: now() };
  };
  return {
    of: (peer) => {
      const trust = withCaFile(settings, peer, (pem) => trustIn(pem === null ? rootsNow() : { pem }));
      latest.set(peer, trust);
      return trust;
    },
    takeAllRoots: () => {
      takesAllRoots = true;
    },
  };
}

/** What is trusted, in PEM, before a TLS context is made of it. */
interface Ca extends Omit<Trust, 'context'> {
  readonly pem: string;
}

type Known = Ca & Trust & { readonly madeAtMs: number };

function isSame(one: Ca, other: Ca): boolean {
  return one.pem === other.pem && one.isPart === other.isPart && one.vouched === other.vouched;
}

/** What is done with the content of the peer's CA file, null without one; a CA that is of no use is TLS_UNTRUSTED. */
function withCaFile<T>(settings: Settings, peer: Peer, work: (pem: string | null) => T): T {
  const key = peer === 'tenancy' ? 'tenancy_ca' : 'secretstore_ca';
  const file = settings[key];
  try {
    return work(file === null ? null : readFileSync(file, 'latin1'));
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw failure('TLS_UNTRUSTED', `${peerNames[peer]}: ${key} ${file ?? ''} cannot be used (${code})`);
  }
}
