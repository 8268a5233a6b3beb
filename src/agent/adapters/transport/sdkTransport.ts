import type { Settings } from '../../config/settings.ts';
import { createMesh } from '../../../mesh/mesh.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Transport } from './transport.ts';
import { meshAgents } from './meshAgents.ts';
import { createAgentPool } from './agentPool.ts';
import type { Trust, TrustStore } from './trustStore.ts';

/** The mesh client in process: one login per tick, and no connection to the services except through the mesh. */
export function createSdkTransport(settings: Settings, trustStore: TrustStore): Transport {
  const connectTimeoutMs = settings.connect_timeout_s * 1000;
  const { identity_file: identityFile, tenancy_service: tenancy, secretstore_service: secretstore } = settings.mesh;
  const mesh = createMesh({ identityFile, timeoutMs: connectTimeoutMs });
  const services = { tenancy, secretstore };
  const open = (peer: Peer, trust: Trust) => meshAgents({ mesh, service: services[peer], connectTimeoutMs }, trust);
  const { agents, agentsWithAllRoots, close } = createAgentPool(trustStore, open);
  return {
    name: 'sdk',
    agents,
    agentsWithAllRoots,
    close: () => {
      close();
      void mesh.close();
    },
  };
}
