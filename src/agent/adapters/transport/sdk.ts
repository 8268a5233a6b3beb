import type { Settings } from '../../config/settings.ts';
import { createMesh } from '../../../mesh/mesh.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Transport } from './agents.ts';
import { meshAgents } from './meshAgents.ts';
import { pooledAgents } from './pool.ts';
import type { Trust, Trusts } from './trust.ts';

/** The mesh in process: one login a tick, and no way for a byte to reach the services but through the mesh. */
export function createSdk(settings: Settings, trusts: Trusts): Transport {
  const connectTimeoutMs = settings.connect_timeout_s * 1000;
  const { identity_file: identityFile, tenancy_service: tenancy, secretstore_service: secretstore } = settings.mesh;
  const mesh = createMesh({ identityFile, timeoutMs: connectTimeoutMs });
  const services = { tenancy, secretstore };
  const open = (peer: Peer, trust: Trust) => meshAgents({ mesh, service: services[peer], connectTimeoutMs }, trust);
  const { agents, widest, close } = pooledAgents(trusts, open);
  return {
    name: 'sdk',
    agents,
    widest,
    close: () => {
      close();
      void mesh.close();
    },
  };
}
