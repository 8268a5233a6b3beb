import { readFileSync } from 'node:fs';
import tls, { type SecureContext } from 'node:tls';
import { failure } from '../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { type Peer, peerNames } from '../../rules/sorting.ts';
import type { Agents, Transport } from './agents.ts';

/** One pair of agents for each peer, opened at its first call with the TLS context of the peer's CA. */
export function pooledAgents(
  settings: Settings,
  open: (peer: Peer, secureContext: SecureContext) => Agents,
): Pick<Transport, 'agents' | 'close'> {
  const pool = new Map<Peer, Agents>();
  const contexts = new Map<Peer, KeptContext>();
  return {
    agents: (peer) => {
      const agents = pool.get(peer) ?? open(peer, secureContext(settings, peer, contexts));
      pool.set(peer, agents);
      return agents;
    },
    close: () => {
      for (const { http, https } of pool.values()) {
        http.destroy();
        https.destroy();
      }
      pool.clear();
    },
  };
}

/** A TLS context and the CA that it was made of. */
interface KeptContext {
  ca: string;
  context: SecureContext;
}

/** The context made before, as long as the CA is the same: a new one for every tick would pile up faster than it is freed. */
function secureContext(settings: Settings, peer: Peer, contexts: Map<Peer, KeptContext>): SecureContext {
  const key = peer === 'tenancy' ? 'tenancy_ca' : 'secretstore_ca';
  const file = settings[key];
  try {
    const ca = file === null ? systemRoots() : readFileSync(file, 'latin1');
    const kept = contexts.get(peer);
    if (kept?.ca === ca) return kept.context;
    const context = tls.createSecureContext({ minVersion: 'TLSv1.2', ca });
    contexts.set(peer, { ca, context });
    return context;
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
  return tls.rootCertificates.join('\n');
}

/** Debian's bundle, then that of the rpm family. */
const rootFiles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];
