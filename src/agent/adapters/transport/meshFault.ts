import { failure, Fault, offline } from '../../../../machines/fault.ts';
import type { MeshTrouble } from '../../../mesh/mesh.ts';

const GRANT = 'the identity needs the role attributes #deploy-agent and #secretstore-client';

/** What each trouble of the mesh means for the tick (spec §9.4, §15). */
export function meshFault({ kind, message }: MeshTrouble): Fault {
  switch (kind) {
    case 'identity':
    case 'unsupported':
      return new Fault('failed', `transport sdk: ${message}`, { code: 'TRANSPORT_UNAVAILABLE' });
    case 'refused': {
      const line = 'AGENT_UNAUTHENTICATED: mesh identity refused';
      return new Fault('unauthenticated', line, { code: 'AGENT_UNAUTHENTICATED', more: [`mesh: ${message}`] });
    }
    case 'untrusted':
      return failure('TLS_UNTRUSTED', `mesh: ${message}`);
    case 'protocol':
      return failure('PROTOCOL_INVALID', `mesh: ${message}`);
    case 'notGranted':
      return offline(`mesh: ${message} (${GRANT})`);
    case 'noTerminator':
    case 'stale':
    case 'cut':
    case 'unreachable':
      return offline(`mesh: ${message}`);
  }
}
