import { readFileSync } from 'node:fs';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { failure } from '../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { clockMs } from '../../journal/clock.ts';
import { type Peer, peerNames } from '../../rules/sorting.ts';
import type { Agents, Transport } from './agents.ts';

const longestMs = 3_600_000;

/**
 * One pair of agents for each peer, opened at its first call with the TLS context of the peer's CA; peers of the same CA share
 * one, since making it takes longer than a handshake. They outlive `close` as long as the CA is the same, for an hour at the
 * most: contexts made anew for every tick would pile up faster than they are freed, and agents that stay resume their TLS
 * sessions (but for those of the mesh), which believe the first handshake.
 */
export function pooledAgents(
  settings: Settings,
  open: (peer: Peer, secureContext: SecureContext) => Agents,
  now = clockMs,
): Pick<Transport, 'agents' | 'close'> {
  const pool = new Map<Peer, Pooled>();
  const trustIn = (ca: string): Trust => {
    const isGood = (trust: Trust) => trust.ca === ca && now() - trust.madeAtMs < longestMs;
    const known = [...pool.values()].map(({ trust }) => trust).find(isGood);
    return known ?? { ca, context: createSecureContext({ minVersion: 'TLSv1.2', ca }), madeAtMs: now() };
  };
  return {
    agents: (peer) => {
      const known = pool.get(peer);
      if (known?.isOpen) return known.agents;
      return withCa(settings, peer, (ca) => {
        const trust = trustIn(ca);
        const pooled = known?.trust === trust ? known : { trust, agents: open(peer, trust.context), isOpen: true };
        pooled.isOpen = true;
        pool.set(peer, pooled);
        return pooled.agents;
      });
    },
    close: () => {
      for (const pooled of pool.values()) {
        pooled.isOpen = false;
        pooled.agents.http.destroy();
        pooled.agents.https.destroy();
      }
    },
  };
}

/** A CA, and the TLS context that was made of it. */
interface Trust {
  readonly ca: string;
  readonly context: SecureContext;
  readonly madeAtMs: number;
}

/** Agents, and whom they trust. */
interface Pooled {
  readonly trust: Trust;
  readonly agents: Agents;
  isOpen: boolean;
}

/** What is done with the peer's CA; a CA that is of no use is TLS_UNTRUSTED. */
function withCa<T>(settings: Settings, peer: Peer, work: (ca: string) => T): T {
  const key = peer === 'tenancy' ? 'tenancy_ca' : 'secretstore_ca';
  const file = settings[key];
  try {
    return work(file === null ? systemRoots() : readFileSync(file, 'latin1'));
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw failure('TLS_UNTRUSTED', `${peerNames[peer]}: ${key} ${file ?? ''} cannot be used (${code})`);
  }
}

/** Read from their usual places, since Node's own search for them can be bent by environment variables. */
function systemRoots(): string {
  for (const file of rootFiles) {
    try {
      return readFileSync(file, 'latin1');
    } catch {
      continue;
    }
  }
  return rootCertificates.join('\n');
}

/** Debian's bundle, then that of the rpm family. */
const rootFiles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];
