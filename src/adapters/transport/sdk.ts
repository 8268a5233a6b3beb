import { Fault } from '../../../machines/fault.ts';
import type { Transport } from './agents.ts';

/** The in-process mesh: this version has no client for it and says so before anything is dialled. */
export function createSdk(): Transport {
  throw new Fault(
    'failed',
    'transport sdk: not available in this version; set transport to proxy or system in config.yaml',
    { code: 'TRANSPORT_UNAVAILABLE' },
  );
}
