import { failedFault, Fault, offlineFault } from '../../../../machines/fault.ts';
import type { MeshError } from '../../../mesh/mesh.ts';

const ROLE_HINT = 'the identity needs the role attributes #deploy-agent and #secretstore-client';

/** The fault for each kind of mesh error (spec §9.4, §15). */
export function meshFault({ kind, message }: MeshError): Fault {
  switch (kind) {
    case 'identity':
    case 'unsupported':
      return new Fault('failed', `transport sdk: ${message}`, { code: 'TRANSPORT_UNAVAILABLE' });
    case 'refused': {
      const line = 'AGENT_UNAUTHENTICATED: mesh identity refused';
      return new Fault('unauthenticated', line, { code: 'AGENT_UNAUTHENTICATED', moreLines: [`mesh: ${message}`] });
    }
    case 'untrusted':
      return failedFault('TLS_UNTRUSTED', `mesh: ${message}`);
    case 'protocol':
      return failedFault('PROTOCOL_INVALID', `mesh: ${message}`);
    case 'notGranted':
      return offlineFault(`mesh: ${message} (${ROLE_HINT})`);
    case 'noTerminator':
    case 'stale':
    case 'channelClosed':
    case 'unreachable':
      return offlineFault(`mesh: ${message}`);
  }
}
