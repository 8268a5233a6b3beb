import type { DetailedPeerCertificate, SecureContext } from 'node:tls';
import { failure } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { clockMs } from '../../journal/clock.ts';
import { type Peer, peerNames } from '../../rules/errors/classifyError.ts';
import { readRegular } from '../../../platform/regularFile.ts';
import { authoritiesIn, contextOf } from '../../../platform/authorities.ts';
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
    return proven === null ? { ...roots.all(), vouched: roots.note } : { ...proven, isPart: true };
  };
  const trustIn = (ca: Ca): Known => {
    const isGood = (trust: Known) => isSame(trust, ca) && now() - trust.madeAtMs < longestMs;
    return [...latest.values()].find(isGood) ?? { ...ca, context: contextIn(ca), madeAtMs: now() };
  };
  return {
    of: (peer) => {
      const trust = withCaFile(settings, peer, (ca) => trustIn(ca ?? rootsNow()));
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
  readonly path: string;
  readonly pem: string;
}

type Known = Ca & Trust & { readonly madeAtMs: number };

function isSame(one: Ca, other: Ca): boolean {
  return one.pem === other.pem && one.isPart === other.isPart && one.vouched === other.vouched;
}

function contextIn({ path, pem }: Ca): SecureContext {
  const authorities = authoritiesIn(pem);
  if (authorities === null) throw Object.assign(new Error('no authority'), { path, code: NONE });
  return contextOf(authorities);
}

/** Stands where the code of a file's error would. */
const NONE = 'no certificate in it';

/** What is done with the content of the peer's CA file, null without one; a CA that is of no use is TLS_UNTRUSTED. */
function withCaFile<T>(settings: Settings, peer: Peer, work: (ca: Ca | null) => T): T {
  const key = peer === 'tenancy' ? 'tenancy_ca' : 'secretstore_ca';
  const file = settings[key];
  try {
    return work(file === null ? null : { path: file, pem: readRegular(file).toString('latin1') });
  } catch (error) {
    const { code = 'unreadable', path = 'the roots' } = error as NodeJS.ErrnoException;
    const what = file === null ? `${path} of the system` : `${key} ${file}`;
    const cure =
      file === null
        ? `make it anew (update-ca-certificates, update-ca-trust), or set ${key}`
        : 'put the authority that the service is trusted by there, in PEM';
    throw failure('TLS_UNTRUSTED', `${peerNames[peer]}: ${what} cannot be used (${code}): ${cure}`);
  }
}
